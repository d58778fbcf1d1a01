"""Support for random operators: element type and shape of the samples."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import TensorType
from sardonyx._src.ops.api import RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result


def float_types(version: int) -> tuple[DataType, ...]:
    """The element types of real samples."""
    types = (DataType.FLOAT16, DataType.FLOAT, DataType.DOUBLE)
    return (*types, DataType.BFLOAT16) if version >= 22 else types


def sample_type(dtype: int | None, like: DataType | None, allowed: Sequence[DataType]) -> DataType:
    """The type with the number `dtype`, or without it the type of the input; raises EvaluationError unless it is allowed."""
    if dtype is None and like in allowed and like is not None:
        return like
    if dtype is not None and dtype in allowed:
        return DataType.from_number(dtype)
    names = ", ".join(f"{d.value} ({d.text})" for d in sorted(allowed))
    if dtype is not None:
        raise EvaluationError(f"dtype must be one of {names}; got {dtype}")
    actual = like.text if like else "no type"
    raise EvaluationError(f"the type of the input must be one of {names}; got {actual}; set dtype")


def check_shape(shape: Sequence[int], dtype: DataType, context: RunContext) -> tuple[int, ...]:
    """The shape, checked to be valid and within the limits."""
    if min(shape, default=0) < 0:
        raise EvaluationError(f"the sizes of shape must not be negative; got {list(shape)}")
    check_result_bytes(context, shape, dtype.numpy, "the random tensor")
    return tuple(shape)


# --- inference -------------------------------------------------------------------------------


def infer_from_shape(inference: Inference) -> Result:
    """Shape and element type from the attributes `shape` and `dtype`."""
    shape = inference.integers("shape")
    assert shape is not None, f"{inference.op_type} has no attribute shape"
    if min(shape, default=0) < 0:
        inference.fail(f"the sizes of shape must not be negative; got {list(shape)}")
    return infer_result(inference, TensorType(DataType.UNDEFINED, shape), float_types(inference.version))


def infer_like(inference: Inference) -> Result:
    """The shape of the input, and the element type from the attribute `dtype` or, without it, from the input."""
    return infer_result(inference, inference.tensor(0), float_types(inference.version))


def infer_result(inference: Inference, like: TensorType | None, allowed: Sequence[DataType]) -> Result:
    """The shape of `like`, with the element type that `sample_type` returns."""
    dtype = inference.attributes.get("dtype")
    assert dtype is None or isinstance(dtype, int), "dtype is a number"
    if dtype is None and like is None:
        return None
    try:
        result_type = sample_type(dtype, None if like is None else like.dtype, allowed)
    except EvaluationError as error:
        inference.fail(error.why)
    return TensorType(result_type, None if like is None else like.shape)
