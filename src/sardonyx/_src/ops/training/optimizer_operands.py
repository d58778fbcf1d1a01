"""Operands of the optimizers: all tensors, then all gradients, then all states of each kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Type
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.shapes import check_one_element, merge_shapes

TRAINING_DOMAIN = "ai.onnx.preview.training"


def by_tensor(inputs: Sequence[Array], kinds: int) -> list[tuple[Array, ...]]:
    """For each tensor: the tensor, its gradient and its states.

    kinds: the number of these arrays, which have one shape and type.
    """
    if not inputs or len(inputs) % kinds:
        raise EvaluationError(
            f"the number of tensors, gradients and states must be a multiple of {kinds}; got {len(inputs)}"
        )
    count = len(inputs) // kinds
    groups = [tuple(inputs[i::count]) for i in range(count)]
    for i, (first, *others) in enumerate(groups):
        if any(x.shape != first.shape or x.dtype != first.dtype for x in others):
            shown = ", ".join(f"{x.dtype}{list(x.shape)}" for x in groups[i])
            raise EvaluationError(
                f"tensor {i}, its gradient and its states must have one type and shape; got {shown}"
            )
    return groups


def by_kind(results: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """All new tensors, then all new states of each kind."""
    return tuple(np.asarray(x) for column in zip(*results, strict=True) for x in column)


def only_number(x: Array, what: str) -> float:
    """The only element of an array; what: its name in messages."""
    if x.size != 1:
        raise EvaluationError(f"{what} must have one element; got shape {list(x.shape)}")
    return float(x.item())


def infer_optimizer(inference: Inference, kinds: int) -> list[Type | None]:
    """New tensors and states have the types of the old ones; a tensor and its states have the same type."""
    for i, name in enumerate("RT"):
        check_one_element(inference, i, name)
    tensors = [inference.tensor(i) for i in range(2, len(inference.inputs))]
    if not tensors or len(tensors) % kinds:
        inference.fail(
            f"the number of tensors, gradients and states must be a multiple of {kinds}; got {len(tensors)}"
        )
    count = len(tensors) // kinds
    types: list[Type | None] = []
    for i in range(count):
        group = [x for x in tensors[i::count] if x is not None]
        if len({x.dtype for x in group}) > 1:
            inference.fail(
                f"tensor {i}, its gradient and its states must have one type; got {', '.join(map(str, group))}"
            )
        shape = merge_shapes(
            inference, [x.shape for x in group], f"the shapes of tensor {i}, its gradient and its states"
        )
        types.append(TensorType(group[0].dtype, shape) if group else None)
    return types * (kinds - 1)  # all but the gradients
