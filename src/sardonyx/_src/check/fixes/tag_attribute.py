"""tag-attribute: the type of an attribute becomes that of the field that holds its value.

Leaves: attributes without a value, and those whose operator wants the type that is stated.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.names import ATTRIBUTE_TYPES, attribute_type
from sardonyx._src.check.value_fields import FIELDS, TYPES, filled
from sardonyx._src.proto.messages import AttributeProto, NodeProto


@fix("SX231 SX232")
def tag_attribute(fault: Fault) -> str:
    one = fault.the(AttributeProto)
    wanted, found = formal_type(fault, one), filled(one)
    if len(found) == 1 and not one.ref_attr_name and wanted in (None, TYPES[found[0]]):
        one.type = TYPES[found[0]]
        return f"set the type to {attribute_type(one.type)}, as the value stands in {found[0]}"
    if not found and one.ref_attr_name and wanted is not None:
        one.type = wanted
        return f"set the type to {attribute_type(wanted)}, as the operator wants it"
    return ""


def formal_type(fault: Fault, one: AttributeProto) -> int | None:
    """The type that the node's operator gives the attribute; None where the operator is not known."""
    node = fault.trail.around.record if fault.trail.around else None
    schema = fault.body.schema(node) if isinstance(node, NodeProto) else None
    formal = schema.attributes.get(one.name) if schema is not None else None
    names = {name: number for number, name in ATTRIBUTE_TYPES.items() if number in FIELDS}
    return names.get(formal.type) if formal is not None else None
