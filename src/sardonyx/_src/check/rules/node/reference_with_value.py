"""SX237 reference-with-value: an attribute that refers to a function's attribute also has a value.

Clause: IR.md, "Attributes", ref_attr_name
Catalogue: ATT-08
Why:    readers may use either.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) {
          w = Softmax <{name: "axis", type: INT, i: 0, ref_attr_name: "a"}> (v)
        }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.attribute_fields import filled_fields
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule("SX237", visits=AttributeProto, needs="ref_attr_name", cached_by_fingerprint=True)
def check_reference_with_value(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    fields = filled_fields(attribute)
    if attribute.ref_attr_name and fields:
        message = f"it refers to {brief(attribute.ref_attr_name)}, and {' and '.join(fields)} holds a value"
        yield Finding("", message, "keep the reference or the value")
