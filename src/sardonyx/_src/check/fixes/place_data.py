"""place-data: data_location becomes what the data say, and entries of external_data that nobody follows are dropped.

Leaves: tensors whose data are neither in them nor in a file that is there.
"""

from __future__ import annotations

from sardonyx._src.check.external import data_file, location_of
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.tensors import EXTERNAL, count_of, data_fields
from sardonyx._src.proto.messages import TensorProto


@fix("SX353")
def place_data(fault: Fault) -> str:
    tensor = fault.the(TensorProto)
    if data_fields(tensor) or not count_of(tensor):
        tensor.clear("external_data")
        return "dropped external_data: the tensor holds its data itself"
    return place_outside(fault, tensor)


@fix("SX355")
def correct_location(fault: Fault) -> str:
    tensor = fault.the(TensorProto)
    if data_fields(tensor) and not tensor.external_data:
        tensor.clear("data_location")
        return "set data_location to DEFAULT: the tensor holds its data itself"
    return place_outside(fault, tensor) if not data_fields(tensor) else ""


def place_outside(fault: Fault, tensor: TensorProto) -> str:
    location = location_of(tensor)
    if not location:
        return ""
    file = data_file(fault.document, location)
    if file is not None and file.why:
        return ""
    tensor.data_location = EXTERNAL
    return "set data_location to EXTERNAL: the data stand where external_data says"
