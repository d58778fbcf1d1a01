"""Transpose: axes in another order.

Spec: ai.onnx Transpose-1, -13, -21, -23, -24, -25, which differ in element types.  Without `perm` the axes are
reversed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import elements

op = Operator("Transpose")
VERSIONS = (1, 13, 21, 23, 24, 25)


@op.infer(*VERSIONS)
def infer(t: Inference) -> Result:
    data, perm = t.tensor(0), t.integers("perm")
    if data is None:
        return None
    if data.shape is None:
        return TensorType(data.dtype, None if perm is None else (None,) * len(perm))
    order = perm if perm is not None else reverse(len(data.shape))
    if sorted(order) != list(range(len(data.shape))):
        t.fail(no_permutation(order, len(data.shape)))
    return TensorType(data.dtype, tuple(data.shape[axis] for axis in order))


@op.value(*VERSIONS)
def value(t: Inference) -> Known | None:
    found = elements(t, 0)
    return None if found is None else np.transpose(found, t.integers("perm"))


@op.eval(*VERSIONS)
def evaluate(data: Array, *, perm: tuple[int, ...] | None = None) -> Array:
    """Axis i of the result is axis perm[i] of data."""
    order = perm if perm is not None else reverse(data.ndim)
    if sorted(order) != list(range(data.ndim)):
        raise EvaluationError(no_permutation(order, data.ndim))
    return data.transpose(order)


def reverse(rank: int) -> tuple[int, ...]:
    return tuple(reversed(range(rank)))


def no_permutation(perm: Sequence[int], rank: int) -> str:
    return f"perm is {list(perm)}, where each axis of rank {rank} is wanted once, counted from the front"
