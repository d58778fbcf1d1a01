"""GatherElements: for each index, the element of data at that index along one axis, and at its position in the others.

Spec: ai.onnx GatherElements-11, -13, which differ in element types.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import axis_of
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, elements, restore_element_type
from sardonyx._src.ops.tensor.indexing import along, check_bounds, from_front

op = Operator("GatherElements", moves_data=True)


@op.infer(11, 13)
def infer(inference: Inference) -> Result:
    data, shape = inference.tensor(0), inference.shape(1)
    if data is None:
        return None
    if shape is None:
        return TensorType(data.dtype, None if data.shape is None else (None,) * len(data.shape))
    if data.shape is None:
        return TensorType(data.dtype, shape)
    if len(data.shape) != len(shape):
        inference.fail(f"data and indices must have the same rank; got {len(data.shape)} and {len(shape)}")
    axis = inference.axis(inference.integer("axis"), len(shape))
    for i, (size, count) in enumerate(zip(data.shape, shape, strict=True)):
        if i != axis and isinstance(size, int) and isinstance(count, int) and count > size:
            inference.fail(f"indices must have at most {size} entries along axis {i}; got {count}")
    check_bounds(inference, inference.constant(1), data.shape[axis])
    return TensorType(data.dtype, shape)


@op.value(11, 13)
@restore_element_type
def value(inference: Inference) -> Known | None:
    data, indices = elements(inference, 0), inference.constant(1)
    if data is None or indices is None or indices.size > MAX_KNOWN_ELEMENTS:
        return None
    try:
        return evaluate(data, indices, axis=inference.integer("axis"))
    except EvaluationError as error:
        inference.fail(error.why)


@op.eval(11, 13)
def evaluate(data: Array, indices: Array, *, axis: int) -> Array:
    """indices, result: of one shape and the rank of data; no larger than data along axes other than `axis`."""
    if data.ndim != indices.ndim:
        raise EvaluationError(f"data and indices must have the same rank; got {data.ndim} and {indices.ndim}")
    axis = axis_of(axis, data.ndim)
    if any(n > size for i, (n, size) in enumerate(zip(indices.shape, data.shape, strict=True)) if i != axis):
        raise EvaluationError(
            f"indices must not exceed data {list(data.shape)} except along axis {axis}; got {list(indices.shape)}"
        )
    return data[along(from_front(indices, data.shape[axis]), axis)]
