"""GatherElements: one entry of an axis for each index, at the index's own place in the other axes.

Spec: ai.onnx GatherElements-11, -13, which differ in element types.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import axis_of
from sardonyx._src.ops.tensor.elements import LIMIT, elements, settled
from sardonyx._src.ops.tensor.indexing import along, check_bounds, from_front

op = Operator("GatherElements")


@op.infer(11, 13)
def infer(t: Inference) -> Result:
    data, shape = t.tensor(0), t.shape(1)
    if data is None:
        return None
    if shape is None:
        return TensorType(data.dtype, None if data.shape is None else (None,) * len(data.shape))
    if data.shape is None:
        return TensorType(data.dtype, shape)
    if len(data.shape) != len(shape):
        t.fail(f"data has rank {len(data.shape)} and indices rank {len(shape)}")
    axis = t.axis(t.integer("axis"), len(shape))
    for i, (size, count) in enumerate(zip(data.shape, shape, strict=True)):
        if i != axis and isinstance(size, int) and isinstance(count, int) and count > size:
            t.fail(f"indices have {count} entries along axis {i}, where data has {size}")
    check_bounds(t, t.constant(1), data.shape[axis])
    return TensorType(data.dtype, shape)


@op.value(11, 13)
@settled
def value(t: Inference) -> Known | None:
    data, indices = elements(t, 0), t.constant(1)
    if data is None or indices is None or indices.size > LIMIT:
        return None
    try:
        return evaluate(data, indices, axis=t.integer("axis"))
    except EvaluationError as error:
        t.fail(error.why)


@op.eval(11, 13)
def evaluate(data: Array, indices: Array, *, axis: int) -> Array:
    """indices, result: of the rank of data, no larger than data in the other axes."""
    if data.ndim != indices.ndim:
        raise EvaluationError(f"data has rank {data.ndim} and indices rank {indices.ndim}")
    axis = axis_of(axis, data.ndim)
    if any(n > size for i, (n, size) in enumerate(zip(indices.shape, data.shape, strict=True)) if i != axis):
        raise EvaluationError(
            f"indices of shape {list(indices.shape)} reach out of data of shape {list(data.shape)} beside axis {axis}"
        )
    return data[along(from_front(indices, data.shape[axis]), axis)]
