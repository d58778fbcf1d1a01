"""Compress: the slices of an axis, or the elements, for which a condition holds.

Spec: ai.onnx Compress-9, -11, -28.  11 says that a negative `axis` counts from the back, which it does here in all
versions; 28 adds an element type.  A condition that is too short leaves out the rest.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.axes import from_the_front
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import axis_of, product
from sardonyx._src.ops.tensor.elements import elements, settled

op = Operator("Compress")
op.convert((11, 9))(from_the_front)


@op.infer(9, 11, 28)
def infer(t: Inference) -> Result:
    data, condition, axis = t.tensor(0), t.constant(1), t.attributes.get("axis")
    if data is None:
        return None
    rank = t.rank(1)
    if rank is not None and rank != 1:
        t.fail(f"the condition has rank {rank}, where a vector is wanted")
    check_length(t, axis)
    count: Dim = t.new_dim() if condition is None else int(np.count_nonzero(condition))
    if not isinstance(axis, int):
        return TensorType(data.dtype, (count,))
    if data.shape is None:
        return data
    axis = t.axis(axis, len(data.shape))
    return TensorType(data.dtype, (*data.shape[:axis], count, *data.shape[axis + 1 :]))


def check_length(t: Inference, axis: object) -> None:
    """Raises InferenceError for a condition with more entries than there are to choose from."""
    data, condition = t.shape(0), t.shape(1)
    if data is None or condition is None:
        return
    there = data[t.axis(axis, len(data))] if isinstance(axis, int) else product(data)
    if isinstance(there, int) and isinstance(condition[0], int) and condition[0] > there:
        t.fail(f"the condition has {condition[0]} entries, where there are {there} to choose from")


@op.value(9, 11, 28)
@settled
def value(t: Inference) -> Known | None:
    data, condition, axis = elements(t, 0), t.constant(1), t.attributes.get("axis")
    if data is None or condition is None:
        return None
    try:
        return evaluate(data, condition, axis=axis if isinstance(axis, int) else None)
    except EvaluationError as error:
        t.fail(error.why)


@op.eval(9, 11, 28)
def evaluate(input: Array, condition: Array, *, axis: int | None = None) -> Array:
    """input: [..., n, ...]; condition: [at most n] bool; result: [..., number of True, ...]; without `axis` flattened."""
    if axis is None:
        input = input.reshape(-1)
    axis = 0 if axis is None else axis_of(axis, input.ndim)
    if condition.ndim != 1 or condition.size > input.shape[axis]:
        what = f"condition has shape {list(condition.shape)}, where at most {input.shape[axis]} entries are wanted"
        raise EvaluationError(what)
    return input[(slice(None),) * axis + (np.flatnonzero(condition),)]
