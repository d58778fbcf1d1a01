"""keep-typed-value: of several values of an attribute the one that its type names is kept, as readers take that one."""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.value_fields import FIELDS, filled
from sardonyx._src.proto.messages import AttributeProto


@fix("SX233")
def keep_typed_value(fault: Fault) -> str:
    one = fault.the(AttributeProto)
    wanted, found = FIELDS.get(one.type), filled(one)
    if wanted not in found or one.ref_attr_name:
        return ""
    others = [field for field in found if field != wanted]
    for field in others:
        one.clear(field)
    return f"kept {wanted}, which the type names, and dropped {' and '.join(others)}"
