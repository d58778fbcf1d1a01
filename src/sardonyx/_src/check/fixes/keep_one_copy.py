"""keep-one-copy: keeps one of several data fields of a tensor with the same elements.

Leaves: fields that differ, since either may be intended.
"""

from __future__ import annotations

from sardonyx._src import dtypes
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.elements import elements_of
from sardonyx._src.check.records.tensors import data_fields, dtype_of, is_external
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto


@fix("SX305")
def keep_one_copy(violation: Violation) -> str:
    tensor = violation.visited_record(TensorProto)
    fields, dtype = data_fields(tensor), dtype_of(tensor)
    if dtype in (None, DataType.STRING) or is_external(tensor):
        return ""
    contents = {field: pack_field(tensor, field, dtype) for field in fields}
    if None in contents.values() or len(set(contents.values())) > 1:
        return ""
    for field in fields[1:]:
        tensor.clear(field)
    return f"kept {fields[0]}, and dropped {' and '.join(fields[1:])} with the same elements"


def pack_field(tensor: TensorProto, field: str, dtype: DataType) -> bytes | None:
    """The elements in one field as raw data; None if they do not match the tensor's dims and type."""
    copy = TensorProto(dims=list(tensor.dims), data_type=tensor.data_type)
    copy.set(field, getattr(tensor, field))
    elements = elements_of(copy)
    return None if elements is None else bytes(dtypes.pack(elements, dtype))
