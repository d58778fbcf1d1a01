"""move-data: moves elements from the typed field of another element type to raw_data, if all convert exactly.

Leaves: numbers that the element type cannot represent, and floats of at most 16 bits, which could be numbers or bit
patterns.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.elements import put_elements
from sardonyx._src.check.records.tensors import count_of, data_fields, dtype_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto

INTEGER_FIELDS = ("int32_data", "int64_data", "uint64_data")
FLOAT_FIELDS = ("float_data", "double_data")


@fix("SX306")
def move_data(violation: Violation) -> str:
    tensor = violation.visited_record(TensorProto)
    dtype, fields = dtype_of(tensor), data_fields(tensor)
    if dtype is None or len(fields) != 1:
        return ""
    field = fields[0]
    is_number = dtype.is_integer and dtype.bits >= 8 and field in INTEGER_FIELDS
    if not is_number and not (dtype in (DataType.FLOAT, DataType.DOUBLE) and field in FLOAT_FIELDS):
        return ""
    entries = np.asarray(getattr(tensor, field))
    with np.errstate(over="ignore"):
        elements = entries.astype(dtype.numpy)
    if len(entries) != count_of(tensor) or not np.array_equal(
        elements.astype(entries.dtype), entries, equal_nan=not is_number
    ):
        return ""
    if is_number and bool(((elements < 0) != (entries < 0)).any()):
        return ""
    put_elements(tensor, elements.reshape(tensor.dims), dtype)
    return f"moved {len(entries)} elements from {field} to raw_data (their typed field is {dtypes.field_of(dtype)})"
