"""place-data: sets data_location to where the data are, and drops unused entries of external_data.

Leaves: tensors whose data are neither inline nor in an existing file.
"""

from __future__ import annotations

from sardonyx._src.check.analysis.external_data import data_file_state, location_of
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.records.tensors import EXTERNAL, count_of, data_fields
from sardonyx._src.proto.messages import TensorProto


@fix("SX353")
def place_data(violation: Violation) -> str:
    tensor = violation.visited_record(TensorProto)
    if data_fields(tensor) or not count_of(tensor):
        tensor.clear("external_data")
        return "dropped external_data: the data are inline"
    return place_outside(violation, tensor)


@fix("SX355")
def correct_location(violation: Violation) -> str:
    tensor = violation.visited_record(TensorProto)
    if data_fields(tensor) and not tensor.external_data:
        tensor.clear("data_location")
        return "set data_location to DEFAULT: the data are inline"
    return place_outside(violation, tensor) if not data_fields(tensor) else ""


def place_outside(violation: Violation, tensor: TensorProto) -> str:
    location = location_of(tensor)
    if not location:
        return ""
    file = data_file_state(violation.document, location)
    if file is not None and file.why:
        return ""
    tensor.data_location = EXTERNAL
    return "set data_location to EXTERNAL: the data are in the file that external_data names"
