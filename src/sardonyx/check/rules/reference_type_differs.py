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

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.check.names import attribute_type
from sardonyx.check.value_fields import FIELDS, kind_of
from sardonyx.proto.messages import AttributeProto
from sardonyx.proto.record import brief


@rule("SX239", visits=AttributeProto, since=9)
def reference_type_differs(one: AttributeProto, context: Context) -> Iterator[Finding]:
    if not one.ref_attr_name or context.body is None or context.body.function is None:
        return
    for formal in context.body.function.attribute_proto:
        if formal.name == one.ref_attr_name and one.type in FIELDS and kind_of(formal) not in (0, one.type):
            wanted = attribute_type(kind_of(formal))
            says = f"it is {attribute_type(one.type)}, the default of {brief(formal.name)} is {wanted}"
            yield Finding("type", says, "give both the type that the operator wants")
