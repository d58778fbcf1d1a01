"""keep-typed-value: keeps the value of an attribute that its type selects, as readers do, and drops the others."""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.records.attribute_fields import VALUE_FIELDS, filled_fields
from sardonyx._src.proto.messages import AttributeProto


@fix("SX233")
def keep_typed_value(violation: Violation) -> str:
    attribute = violation.visited_record(AttributeProto)
    stated, fields = VALUE_FIELDS.get(attribute.type), filled_fields(attribute)
    if stated not in fields or attribute.ref_attr_name:
        return ""
    others = [field for field in fields if field != stated]
    for field in others:
        attribute.clear(field)
    return f"kept {stated}, which the type selects, and dropped {' and '.join(others)}"
