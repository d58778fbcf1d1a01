"""ConstantFill and GivenTensorFill: tensors filled with one value, or with listed values.

Spec: ai.onnx ConstantFill-1, GivenTensorFill-1, experimental in the first releases, removed later.  The shape of the
result is the attribute `shape`, or the shape of the input, or, with `input_as_shape`, the elements of the input.
`extra_shape` is appended to a shape that the input gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, Tensor, TensorType, Value
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

constant_fill = Operator(
    "ConstantFill",
    about="a tensor filled with one value; its shape is that of a tensor, its elements or an attribute.",
)
given_tensor_fill = Operator(
    "GivenTensorFill", about="a tensor of the values that an attribute lists.", replacement_accepts_more=True
)
CONSTANT_FILL_TYPES = (DataType.FLOAT, DataType.INT32, DataType.INT64, DataType.BOOL)


@constant_fill.eval(1)
def eval_constant(
    input: Array | None = None,
    *,
    dtype: int,
    value: float,
    shape: tuple[int, ...] | None = None,
    extra_shape: tuple[int, ...] = (),
    input_as_shape: int = 0,
    context: RunContext,
) -> Array:
    if dtype not in CONSTANT_FILL_TYPES:
        names = ", ".join(t.name for t in CONSTANT_FILL_TYPES)
        raise EvaluationError(f"dtype must be one of {names}; got {dtype}")
    sizes = fill_shape(input, shape, extra_shape, bool(input_as_shape))
    elements = DataType.from_number(dtype).numpy
    check_result_bytes(context, sizes, elements, "ConstantFill result")
    return np.full(sizes, value).astype(elements)


@given_tensor_fill.eval(1)
def eval_given_tensor(
    input: Array | None = None,
    *,
    values: tuple[float, ...] = (),
    shape: tuple[int, ...] | None = None,
    extra_shape: tuple[int, ...] = (),
    input_as_shape: int = 0,
) -> Array:
    """The elements have the type of the input; float32 if there is no input."""
    sizes = fill_shape(input, shape, extra_shape, bool(input_as_shape))
    if math.prod(sizes) != len(values):
        raise EvaluationError(f"values must have the number of elements of shape {sizes}; got {len(values)}")
    return np.array(values, np.float32 if input is None else input.dtype).reshape(sizes)


def fill_shape(
    input: Array | None, shape: tuple[int, ...] | None, extra: Sequence[int], input_as_shape: bool
) -> list[int]:
    """The shape of the result; raises EvaluationError if it is given twice or not at all, or has a negative size."""
    if (input is None) == (shape is None) or (input is None and (extra or input_as_shape)):
        raise EvaluationError(
            "exactly one of attribute shape and the input must be given; extra_shape and input_as_shape require the input"
        )
    if input is None:
        sizes = list(shape or ())
    else:
        sizes = [*(map(int, input.reshape(-1)) if input_as_shape else input.shape), *extra]
    if min(sizes, default=0) < 0:
        raise EvaluationError(f"sizes of the shape must be >= 0; got {sizes}")
    return sizes


# --- inference -------------------------------------------------------------------------------


@constant_fill.infer(1)
def infer_constant(inference: Inference) -> Result:
    return TensorType(DataType.from_number(inference.integer("dtype")), fill_dims(inference))


@given_tensor_fill.infer(1)
def infer_given_tensor(inference: Inference) -> Result:
    dtype = inference.dtype(0) if inference.has(0) else DataType.FLOAT
    dims, values = fill_dims(inference), inference.attributes.get("values")
    sizes = [dim for dim in dims or () if isinstance(dim, int)]
    count = len(values) if isinstance(values, tuple) else 0
    if dims is not None and len(sizes) == len(dims) and math.prod(sizes) != count:
        inference.fail(f"values must have the number of elements of shape {sizes}; got {count}")
    return None if dtype is None else TensorType(dtype, dims)


def fill_dims(inference: Inference) -> Shape | None:
    """The shape of the result, as far as it is known."""
    if not inference.has(0):
        return inference.integers("shape")
    dims = inference.dims(0) if inference.attributes.get("input_as_shape") else inference.shape(0)
    return None if dims is None else (*dims, *(inference.integers("extra_shape") or ()))


# --- conversion ------------------------------------------------------------------------------


@constant_fill.convert((1, 0))
def replace_constant_fill(adapter: Adapter) -> AdaptedNode:
    inference = adapter.inference
    number = inference.integer("dtype")
    if number not in CONSTANT_FILL_TYPES:
        names = ", ".join(t.name for t in CONSTANT_FILL_TYPES)
        adapter.refuse(f"dtype must be one of {names}; got {number}")
    dtype = DataType.from_number(number)
    value = np.array([inference.number("value")]).astype(dtype.numpy)
    return adapter.ConstantOfShape(shape_value(adapter), value=Tensor.of(value))


@given_tensor_fill.convert((1, 0))
def replace_given_tensor_fill(adapter: Adapter) -> AdaptedNode:
    values = adapter.inference.attributes.get("values")
    dtype = DataType.FLOAT if adapter.optional(0) is None else adapter.dtype(0)
    elements = adapter.constant(np.array(values if isinstance(values, tuple) else (), np.float64), dtype)
    return adapter.Reshape(elements, shape_value(adapter))


def shape_value(adapter: Adapter) -> Value:
    """The shape of the result as a value of int64."""
    inference, data = adapter.inference, adapter.optional(0)
    sizes, extra = inference.integers("shape"), inference.integers("extra_shape")
    is_shape = bool(inference.attributes.get("input_as_shape"))
    if (data is None) == (sizes is None) or (data is None and (extra or is_shape)):
        adapter.refuse(
            "exactly one of attribute shape and the input must be given; extra_shape and input_as_shape require the input"
        )
    if data is None:
        return adapter.integers(sizes)
    if is_shape:
        first = adapter.Reshape(cast(adapter, data, DataType.INT64), adapter.integers([-1]))
    else:
        first = adapter.Shape(data)
    return adapter.Concat(first, adapter.integers(extra), axis=0) if extra else first
