"""drop-empty-type: a type that says nothing, neither its kind nor of what, is dropped where a type may be left out.

Leaves: inputs and outputs of the main graph, which need one.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import GraphProto, ValueInfoProto


@fix("SX365")
def drop_empty_type(fault: Fault) -> str:
    around = fault.trail.around
    if around is None or not isinstance(around.record, ValueInfoProto):
        return ""
    body, field = fault.body, around.field.name if around.field else ""
    if isinstance(body.record, GraphProto) and body.kind != "nested" and field != "value_info":
        return ""
    around.record.clear("type")
    return f"dropped the empty type of {around.record.name!r}"
