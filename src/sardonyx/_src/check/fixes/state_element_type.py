"""state-element-type: sets the missing element type of a tensor to the only one that its typed field can hold.

Leaves: fields of several element types, unless the number of entries distinguishes complex numbers.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.records.tensors import count_of, data_fields, is_external
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto

TYPE_OF_FIELD = {"string_data": DataType.STRING, "int64_data": DataType.INT64}
TYPES_BY_COUNT = {  # field -> the type with one entry an element, and that with two
    "float_data": (DataType.FLOAT, DataType.COMPLEX64),
    "double_data": (DataType.DOUBLE, DataType.COMPLEX128),
}


@fix("SX300")
def state_element_type(violation: Violation) -> str:
    tensor = violation.visited_record(TensorProto)
    fields, count = data_fields(tensor), count_of(tensor)
    if tensor.data_type or len(fields) != 1 or is_external(tensor) or not count:
        return ""
    dtype = TYPE_OF_FIELD.get(fields[0])
    if fields[0] in TYPES_BY_COUNT:
        dtype = dict(zip((count, 2 * count), TYPES_BY_COUNT[fields[0]], strict=True)).get(
            len(getattr(tensor, fields[0]))
        )
    if dtype is None:
        return ""
    tensor.data_type = int(dtype)
    return f"set data_type to {dtype.name}, the type of {fields[0]}"
