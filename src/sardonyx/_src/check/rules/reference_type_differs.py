"""SX239 reference-type-differs: an attribute and the function's attribute to which it refers have different types.

Clause: IR.md, "Attributes", "Functions"
Catalogue: ATT-10
Why:    the default of the function's attribute cannot be the value of this one.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: float = 1.0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import key_of
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import attribute_type
from sardonyx._src.check.value_fields import FIELDS
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule("SX239", visits=AttributeProto, since=9, needs="ref_attr_name", by_form=True)
def reference_type_differs(one: AttributeProto, context: Context) -> Iterator[Finding]:
    if not one.ref_attr_name or context.body is None or context.body.function is None:
        return
    defaults = context.document.formals[key_of(context.body.function)].defaults
    wanted = defaults.get(one.ref_attr_name, 0)
    if wanted and one.type in FIELDS and wanted != one.type:
        found = attribute_type(one.type)
        says = f"it is {found}, the default of {brief(one.ref_attr_name)} is {attribute_type(wanted)}"
        yield Finding("type", says, "give both the type that the operator wants")
