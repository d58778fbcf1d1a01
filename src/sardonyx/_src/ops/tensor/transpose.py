"""Transpose: permutes the axes of a tensor.

Spec: ai.onnx Transpose-1, -13, -21, -23, -24, -25, which differ in element types.  Without `perm` the axes are
reversed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import elements

op = Operator("Transpose", moves_data=True, keeps_order="permutation")
TRANSPOSE_VERSIONS = (1, 13, 21, 23, 24, 25)


@op.infer(*TRANSPOSE_VERSIONS)
def infer(inference: Inference) -> Result:
    data, perm = inference.tensor(0), inference.integers("perm")
    if data is None:
        return None
    if data.shape is None:
        return TensorType(data.dtype, None if perm is None else (None,) * len(perm))
    order = perm if perm is not None else reverse(len(data.shape))
    if sorted(order) != list(range(len(data.shape))):
        inference.fail(permutation_message(order, len(data.shape)))
    return TensorType(data.dtype, tuple(data.shape[axis] for axis in order))


@op.value(*TRANSPOSE_VERSIONS)
def value(inference: Inference) -> Known | None:
    known = elements(inference, 0)
    return None if known is None else np.transpose(known, inference.integers("perm"))


@op.eval(*TRANSPOSE_VERSIONS)
def evaluate(data: Array, *, perm: tuple[int, ...] | None = None) -> Array:
    """Axis i of the result is axis perm[i] of data."""
    order = perm if perm is not None else reverse(data.ndim)
    if sorted(order) != list(range(data.ndim)):
        raise EvaluationError(permutation_message(order, data.ndim))
    return data.transpose(order)


def reverse(rank: int) -> tuple[int, ...]:
    return tuple(reversed(range(rank)))


def permutation_message(perm: Sequence[int], rank: int) -> str:
    return f"perm must be a permutation of the axes 0 to {rank - 1}; got {list(perm)}"
