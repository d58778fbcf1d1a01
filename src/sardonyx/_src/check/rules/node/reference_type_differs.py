"""SX239 reference-type-differs: an attribute and the function's attribute to which it refers have different types.

Clause: IR.md, "Attributes", "Functions"
Catalogue: ATT-10
Why:    the default of the function's attribute is not valid for this one.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: float = 1.0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.check.records.attribute_fields import VALUE_FIELDS
from sardonyx._src.check.records.names import attribute_type
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule("SX239", visits=AttributeProto, since=9, needs="ref_attr_name", cached_by_fingerprint=True)
def check_reference_type_differs(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    if not attribute.ref_attr_name or context.body is None or context.body.function is None:
        return
    defaults = context.document.formals[key_of(context.body.function)].defaults
    expected = defaults.get(attribute.ref_attr_name, 0)
    if expected and attribute.type in VALUE_FIELDS and expected != attribute.type:
        actual = attribute_type(attribute.type)
        message = (
            f"it is {actual}, the default of {brief(attribute.ref_attr_name)} is {attribute_type(expected)}"
        )
        yield Finding("type", message, "use the type that the operator expects for both")
