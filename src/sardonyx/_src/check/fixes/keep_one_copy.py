"""keep-one-copy: of two fields of a tensor that hold the same elements one is dropped.

Leaves: fields that differ, as nobody can tell which one is meant.
"""

from __future__ import annotations

from sardonyx._src import dtypes
from sardonyx._src.check.elements import elements_of
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.tensors import data_fields, dtype_of, is_external
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto


@fix("SX305")
def keep_one_copy(fault: Fault) -> str:
    tensor = fault.the(TensorProto)
    fields, dtype = data_fields(tensor), dtype_of(tensor)
    if dtype in (None, DataType.STRING) or is_external(tensor):
        return ""
    contents = {field: packed(tensor, field, dtype) for field in fields}
    if None in contents.values() or len(set(contents.values())) > 1:
        return ""
    for field in fields[1:]:
        tensor.clear(field)
    return f"kept {fields[0]}, and dropped {' and '.join(fields[1:])} with the same elements"


def packed(tensor: TensorProto, field: str, dtype: DataType) -> bytes | None:
    """The elements in one field as raw data; None where they do not fit the tensor."""
    one = TensorProto(dims=list(tensor.dims), data_type=tensor.data_type)
    one.set(field, getattr(tensor, field))
    elements = elements_of(one)
    return None if elements is None else bytes(dtypes.pack(elements, dtype))
