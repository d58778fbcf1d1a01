"""tag-attribute: sets the type of an attribute to that of the field that holds its value.

Leaves: attributes without a value, and those whose stated type is what the operator expects.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.records.attribute_fields import TYPES_BY_VALUE_FIELD, VALUE_FIELDS, filled_fields
from sardonyx._src.check.records.names import ATTRIBUTE_TYPE_NAMES, attribute_type
from sardonyx._src.proto.messages import AttributeProto, NodeProto


@fix("SX231 SX232")
def tag_attribute(violation: Violation) -> str:
    attribute = violation.visited_record(AttributeProto)
    formal, fields = formal_type(violation, attribute), filled_fields(attribute)
    if len(fields) == 1 and not attribute.ref_attr_name and formal in (None, TYPES_BY_VALUE_FIELD[fields[0]]):
        attribute.type = TYPES_BY_VALUE_FIELD[fields[0]]
        return f"set the type to {attribute_type(attribute.type)}, the type of {fields[0]}, which holds the value"
    if not fields and attribute.ref_attr_name and formal is not None:
        attribute.type = formal
        return f"set the type to {attribute_type(formal)}, as the operator expects"
    return ""


def formal_type(violation: Violation, attribute: AttributeProto) -> int | None:
    """The type that the node's operator declares for the attribute; None if the operator is unknown."""
    node = violation.record_path.parent.record if violation.record_path.parent else None
    schema = violation.body.schema(node) if isinstance(node, NodeProto) else None
    parameter = schema.attributes.get(attribute.name) if schema is not None else None
    names = {name: number for number, name in ATTRIBUTE_TYPE_NAMES.items() if number in VALUE_FIELDS}
    return names.get(parameter.type) if parameter is not None else None
