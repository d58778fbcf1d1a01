"""move-data: elements in a typed field of another element type move to the field of their own, if all are exact there.

Leaves: numbers that the element type lacks, and floats of 16 bits and fewer, which could be numbers or bit patterns.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.check.elements import put_elements
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.tensors import count_of, data_fields, dtype_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto

INTEGERS = ("int32_data", "int64_data", "uint64_data")
FLOATS = ("float_data", "double_data")


@fix("SX306")
def move_data(fault: Fault) -> str:
    tensor = fault.the(TensorProto)
    dtype, fields = dtype_of(tensor), data_fields(tensor)
    if dtype is None or len(fields) != 1:
        return ""
    field = fields[0]
    is_number = dtype.is_integer and dtype.bits >= 8 and field in INTEGERS
    if not is_number and not (dtype in (DataType.FLOAT, DataType.DOUBLE) and field in FLOATS):
        return ""
    found = np.asarray(getattr(tensor, field))
    with np.errstate(over="ignore"):
        moved = found.astype(dtype.numpy)
    if len(found) != count_of(tensor) or not np.array_equal(
        moved.astype(found.dtype), found, equal_nan=not is_number
    ):
        return ""
    if is_number and bool(((moved < 0) != (found < 0)).any()):
        return ""
    put_elements(tensor, moved.reshape(tensor.dims), dtype)
    return f"moved {len(found)} elements from {field} to raw_data (their typed field is {dtypes.field_of(dtype)})"
