"""state-element-type: a tensor without element type gets the one that its typed field can only mean.

Leaves: fields that serve several element types, unless the number of entries tells complex numbers from others.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.tensors import count_of, data_fields, is_external
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto

ALONE = {"string_data": DataType.STRING, "int64_data": DataType.INT64}
BY_COUNT = {  # field -> the type with one entry an element, and that with two
    "float_data": (DataType.FLOAT, DataType.COMPLEX64),
    "double_data": (DataType.DOUBLE, DataType.COMPLEX128),
}


@fix("SX300")
def state_element_type(fault: Fault) -> str:
    tensor = fault.the(TensorProto)
    fields, count = data_fields(tensor), count_of(tensor)
    if tensor.data_type or len(fields) != 1 or is_external(tensor) or not count:
        return ""
    dtype = ALONE.get(fields[0])
    if fields[0] in BY_COUNT:
        dtype = dict(zip((count, 2 * count), BY_COUNT[fields[0]], strict=True)).get(
            len(getattr(tensor, fields[0]))
        )
    if dtype is None:
        return ""
    tensor.data_type = int(dtype)
    return f"set data_type to {dtype.name}, as the elements stand in {fields[0]}"
