"""Compress: selects the slices of an axis, or the elements, for which a condition is true.

Spec: ai.onnx Compress-9, -11, -28.  11 specifies a negative `axis`, which is supported here in all versions; 28
adds an element type.  Entries past the end of a shorter condition are dropped.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.axes import normalize_axis
from sardonyx._src.ops.support.shapes import axis_of, element_count
from sardonyx._src.ops.tensor.elements import elements, restore_element_type

op = Operator("Compress")
op.convert((11, 9))(normalize_axis)


@op.infer(9, 11, 28)
def infer(inference: Inference) -> Result:
    data, condition, axis = inference.tensor(0), inference.constant(1), inference.attributes.get("axis")
    if data is None:
        return None
    rank = inference.rank(1)
    if rank is not None and rank != 1:
        inference.fail(f"the condition must be a vector; got rank {rank}")
    check_length(inference, axis)
    count: Dim = inference.new_dim() if condition is None else int(np.count_nonzero(condition))
    if not isinstance(axis, int):
        return TensorType(data.dtype, (count,))
    if data.shape is None:
        return data
    axis = inference.axis(axis, len(data.shape))
    return TensorType(data.dtype, (*data.shape[:axis], count, *data.shape[axis + 1 :]))


def check_length(inference: Inference, axis: object) -> None:
    """Raises InferenceError for a condition with more entries than slices or elements."""
    data, condition = inference.shape(0), inference.shape(1)
    if data is None or condition is None:
        return
    available = data[inference.axis(axis, len(data))] if isinstance(axis, int) else element_count(data)
    if isinstance(available, int) and isinstance(condition[0], int) and condition[0] > available:
        inference.fail(f"the condition must have at most {available} entries; got {condition[0]}")
    inference.require_at_most(condition[0], available)


@op.value(9, 11, 28)
@restore_element_type
def value(inference: Inference) -> Known | None:
    data, condition, axis = elements(inference, 0), inference.constant(1), inference.attributes.get("axis")
    if data is None or condition is None:
        return None
    try:
        return evaluate(data, condition, axis=axis if isinstance(axis, int) else None)
    except EvaluationError as error:
        inference.fail(error.why)


@op.eval(9, 11, 28)
def evaluate(input: Array, condition: Array, *, axis: int | None = None) -> Array:
    """input: [..., n, ...], flattened if `axis` is omitted; condition: [at most n] bool; result: [..., number of True, ...]."""
    if axis is None:
        input = input.reshape(-1)
    axis = 0 if axis is None else axis_of(axis, input.ndim)
    if condition.ndim != 1 or condition.size > input.shape[axis]:
        what = f"condition must be a vector of at most {input.shape[axis]} entries; got shape {list(condition.shape)}"
        raise EvaluationError(what)
    return input[(slice(None),) * axis + (np.flatnonzero(condition),)]
