"""Updates by the optimizer operators of ai.onnx.preview.training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.grad.detection import DOMAIN
from sardonyx._src.ir import Value
from sardonyx._src.train.optimizers.base import OptimizerStep, TrainedTensor


def preview_update(
    step: OptimizerStep,
    op_type: str,
    parameters: Sequence[TrainedTensor],
    states: Sequence[str],
    *,
    updates: Value | None = None,
    **attributes: object,
) -> Mapping[TrainedTensor, Value]:
    """One node for all parameters: inputs rate, update count, parameters, gradients, and each kind of state.

    updates: the update count; by default the number of updates before this one.
    """
    if len({p.dtype for p in parameters}) > 1:
        raise InputError(
            f"{op_type} requires parameters of one element type; use as_operator=False", name="optimizer"
        )
    kinds = [[step.state(p, name) for p in parameters] for name in states]
    operands = [
        *(p.value for p in parameters),
        *(p.gradient for p in parameters),
        *(s for k in kinds for s in k),
    ]
    count = step.updates if updates is None else updates
    rate = step.rate_as(parameters[0].dtype)
    outputs = len(parameters) * (1 + len(kinds))
    node = step.b.node(op_type, [rate, count, *operands], outputs, domain=DOMAIN, name="", **attributes)
    new_values, rest = node.outputs[: len(parameters)], node.outputs[len(parameters) :]
    for state, new in zip((s for kind in kinds for s in kind), rest, strict=True):
        step.assign(state, new)
    return dict(zip(parameters, new_values, strict=True))
