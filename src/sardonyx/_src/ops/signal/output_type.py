"""The attribute `output_datatype` of operators that make tables of numbers, and scalar inputs that set their size."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.arithmetic import narrow
from sardonyx._src.ops.inference import Inference

ALLOWED = (
    *(DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE, DataType.BFLOAT16),
    *(DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64),
    *(DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64),
)


def output_type(number: int) -> DataType:
    """Raises EvaluationError for a number that is not that of a float or integer type of 8 bits or more."""
    if number not in ALLOWED:
        names = ", ".join(f"{d.value} ({d.text})" for d in sorted(ALLOWED))
        raise EvaluationError(f"output_datatype is {number}, where one of {names} is wanted")
    return DataType.numbered(number)


def told_type(t: Inference) -> DataType:
    try:
        return output_type(t.integer("output_datatype"))
    except EvaluationError as error:
        t.fail(error.why)


def converted(x: Array, dtype: DataType) -> Array:
    """float64 values in `dtype`; an integer is what is left of a float32 when its digits are cut off."""
    if dtype.is_integer:
        x = x.astype(np.float32)  # the peak of a window, a sum of cosines, is 1 only when it is rounded
    return narrow(x, dtype.numpy)


def scalar(x: Array, name: str) -> Array:
    """The one element of an input; raises EvaluationError when there are more or none."""
    if x.size != 1:
        raise EvaluationError(f"{name} has {x.size} elements, where a scalar is wanted")
    return x.reshape(())


def whole(x: Array, name: str, *, least: int) -> int:
    """The one element of an input of integers; raises EvaluationError when it is below `least`."""
    found = int(scalar(x, name))
    if found < least:
        raise EvaluationError(f"{name} is {found}, where {least} or more is wanted")
    return found


def told_whole(t: Inference, i: int, name: str, *, least: int) -> Dim:
    """The one element of input i as far as it is known."""
    dims = t.dims(i)
    if dims is None:
        return None
    if len(dims) != 1:
        t.fail(f"{name} has {len(dims)} elements, where a scalar is wanted")
    found = dims[0]
    if isinstance(found, int) and found < least:
        t.fail(f"{name} is {found}, where {least} or more is wanted")
    return found
