"""GRUUnit: one step of gated recurrent units; the values of the gates before activation are an input.

Spec: ai.onnx GRUUnit-1, experimental in the first releases, removed in 1.5.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.body_text import promoted_type
from sardonyx._src.ops.support.promotion import cast, compute_promoted
from sardonyx._src.ops.support.shapes import same_tensor
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("GRUUnit", tolerance="rounding", replacement_accepts_more=True)


@op.infer(1)
def infer(inference: Inference) -> Result:
    hidden, gates, lengths = (inference.shape(i) for i in range(3))
    if hidden is not None and len(hidden) < 2:
        inference.fail(f"hidden_prev must have rank >= 2 ([..., batch, hidden]); got rank {len(hidden)}")
    if hidden is not None and gates is not None:
        width = 3 * hidden[-1] if isinstance(hidden[-1], int) else None
        expected = (*hidden[:-1], width)
        if len(gates) != len(hidden) or any(are_unequal(a, b) for a, b in zip(gates, expected, strict=True)):
            inference.fail(f"gates must have shape [..., 3 * hidden] for hidden_prev {hidden}; got {gates}")
    if lengths is not None and (
        len(lengths) != 1 or (hidden is not None and are_unequal(lengths[0], hidden[-2]))
    ):
        inference.fail(f"seq_lengths must have shape [batch]; got {lengths}")
    return same_tensor(inference)


def are_unequal(a: Dim, b: Dim) -> bool:
    """Whether two dims are different numbers."""
    return isinstance(a, int) and isinstance(b, int) and a != b


@op.eval(1)
def evaluate(
    hidden_prev: Array, gates: Array, seq_lengths: Array, t: Array, *, drop_states: int = 0
) -> Array:
    """hidden_prev, result: [..., batch, hidden]; gates: [..., batch, 3 * hidden], before activation, as reset, update
    and output; seq_lengths: [batch]; t: one element, the step.

    A sequence that has ended by step t keeps its state, or gets zeros if `drop_states` is set.
    """
    shape = hidden_prev.shape
    if hidden_prev.ndim < 2 or gates.shape != (*shape[:-1], 3 * shape[-1]):
        raise EvaluationError(
            f"gates must have shape [..., 3 * hidden] for hidden_prev {list(shape)}; got {list(gates.shape)}"
        )
    if seq_lengths.shape != (shape[-2],) or t.size != 1:
        shapes = f"shapes {list(seq_lengths.shape)} and {list(t.shape)}"
        raise EvaluationError(f"seq_lengths must have shape [{shape[-2]}] and t one element; got {shapes}")
    before = promote_to_float32(hidden_prev)
    _, update, output = np.split(
        promote_to_float32(gates), 3, axis=-1
    )  # `output` already includes the reset gate
    z = 1 / (1 + np.exp(-update))
    after = z * before + (1 - z) * np.tanh(output)
    is_active = (t.reshape(()) < seq_lengths)[:, None]
    final = np.zeros_like(before) if drop_states else before
    return round_to_type(np.where(is_active, after, final), hidden_prev.dtype)


@op.convert((1, 0))
def replace(adapter: Adapter) -> AdaptedNode:
    """The formula of the kernel, node by node."""
    wide = promoted_type(adapter.dtype(0))
    gates = cast(adapter, adapter.input(1), wide)
    _, update, output = adapter.ops("Split", gates, outputs=3, axis=adapter.rank(1) - 1)
    step = adapter.Reshape(adapter.input(3), adapter.integers([1]))
    is_active = adapter.Unsqueeze(adapter.Less(step, adapter.input(2)), axes=[1])

    def compute(before: Value) -> Value:
        z = adapter.Sigmoid(update)
        rest = adapter.Sub(adapter.constant(1.0, wide), z)
        after = adapter.Add(adapter.Mul(z, before), adapter.Mul(rest, adapter.Tanh(output)))
        is_dropped = bool(adapter.inference.attributes.get("drop_states"))
        final = adapter.constant(0.0, wide) if is_dropped else before
        return adapter.Where(is_active, after, final)

    return compute_promoted(adapter, compute)
