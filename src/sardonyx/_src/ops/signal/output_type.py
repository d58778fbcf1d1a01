"""The attribute `output_datatype` of operators that generate tables, and the scalar inputs that set their size."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.arithmetic import round_to_type

OUTPUT_DATATYPES = (
    *(DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE, DataType.BFLOAT16),
    *(DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64),
    *(DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64),
)


def output_type(number: int) -> DataType:
    """The type with the number `output_datatype`; raises EvaluationError unless it is a float or integer of at least 8 bits."""
    if number not in OUTPUT_DATATYPES:
        names = ", ".join(f"{d.value} ({d.text})" for d in sorted(OUTPUT_DATATYPES))
        raise EvaluationError(f"output_datatype must be one of {names}; got {number}")
    return DataType.from_number(number)


def inferred_output_type(inference: Inference) -> DataType:
    try:
        return output_type(inference.integer("output_datatype"))
    except EvaluationError as error:
        inference.fail(error.why)


def convert_output(x: Array, dtype: DataType) -> Array:
    """float64 values converted to `dtype`, for integers by truncating the float32 value."""
    if dtype.is_integer:
        x = x.astype(np.float32)  # the peak of a window, a sum of cosines, is only exactly 1 after rounding
    return round_to_type(x, dtype.numpy)


def read_scalar(x: Array, name: str) -> Array:
    """The element of an input that must have one; otherwise raises EvaluationError."""
    if x.size != 1:
        raise EvaluationError(f"{name} must be a scalar; got {x.size} elements")
    return x.reshape(())


def read_integer(x: Array, name: str, *, minimum: int) -> int:
    """The element of an integer input that must have one; raises EvaluationError if it is below `minimum`."""
    value = int(read_scalar(x, name))
    if value < minimum:
        raise EvaluationError(f"{name} must be >= {minimum}; got {value}")
    return value


def known_integer(inference: Inference, i: int, name: str, *, minimum: int) -> Dim:
    """The single element of input i, None if unknown; raises InferenceError if it is below `minimum`."""
    dims = inference.dims(i)
    if dims is None:
        return None
    if len(dims) != 1:
        inference.fail(f"{name} must be a scalar; got {len(dims)} elements")
    value = dims[0]
    if isinstance(value, int) and value < minimum:
        inference.fail(f"{name} must be >= {minimum}; got {value}")
    return value
