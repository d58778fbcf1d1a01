"""drop-empty-type: drops an empty type where a type is optional.

Leaves: inputs and outputs of the main graph, which require one.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import GraphProto, ValueInfoProto


@fix("SX365")
def drop_empty_type(violation: Violation) -> str:
    parent = violation.record_path.parent
    if parent is None or not isinstance(parent.record, ValueInfoProto):
        return ""
    body, field = violation.body, parent.field.name if parent.field else ""
    if isinstance(body.record, GraphProto) and body.kind != "nested" and field != "value_info":
        return ""
    parent.record.clear("type")
    return f"dropped the empty type of {parent.record.name!r}"
