"""Gather: entries of one axis, picked by indices.

Spec: ai.onnx Gather-1, -11, -13.  11 says that negative indices count from the back, which they do here in all
versions; 13 adds an element type.
"""

from __future__ import annotations

import math

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import axis_of
from sardonyx._src.ops.tensor.elements import LIMIT, elements, settled
from sardonyx._src.ops.tensor.indexing import check_bounds, from_front, non_negative

op = Operator("Gather")


@op.infer(1, 11, 13)
def infer(t: Inference) -> Result:
    data, places = t.tensor(0), t.shape(1)
    if data is None:
        return None
    if data.shape is None:
        return TensorType(data.dtype)
    axis = t.axis(t.integer("axis"), len(data.shape))
    check_bounds(t, t.constant(1), data.shape[axis])
    return TensorType(
        data.dtype, None if places is None else data.shape[:axis] + places + data.shape[axis + 1 :]
    )


@op.value(1, 11, 13)
@settled
def value(t: Inference) -> Known | None:
    data, indices = elements(t, 0), t.constant(1)
    if data is None or indices is None:
        return None
    axis = t.axis(t.integer("axis"), data.ndim)
    shape = picked_shape(data, indices, axis)
    if math.prod(shape) > LIMIT:
        return None
    try:
        return picked(data, indices, axis).reshape(shape)
    except EvaluationError as error:
        t.fail(error.why)


@op.convert((11, 1))
def to_1(c: Change) -> Converted:
    """Indices counted from the front."""
    return c.same([c.input(0), non_negative(c, 1, c.axis())])


@op.eval(1, 11, 13)
def evaluate(data: Array, indices: Array, *, axis: int, call: Call) -> Array:
    """data: [before, n, after], indices: any shape of integers in [-n, n); result: [before, shape of indices, after]."""
    if data.ndim == 0:
        raise EvaluationError("data is a scalar, which has no axis to pick from")
    axis = axis_of(axis, data.ndim)
    shape = picked_shape(data, indices, axis)
    claim(call, shape, data.dtype, "Gather result")
    return picked(data, indices, axis).reshape(shape)


def picked_shape(data: Array, indices: Array, axis: int) -> tuple[int, ...]:
    return data.shape[:axis] + indices.shape + data.shape[axis + 1 :]


def picked(data: Array, indices: Array, axis: int) -> Array:
    return data.take(from_front(indices, data.shape[axis]).reshape(-1), axis)
