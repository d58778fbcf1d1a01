"""SX237 reference-with-value: an attribute that refers to a function's attribute has a value of its own, too.

Clause: IR.md, "Attributes", ref_attr_name
Catalogue: ATT-08
Why:    readers may take either.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) {
          w = Softmax <{name: "axis", type: INT, i: 0, ref_attr_name: "a"}> (v)
        }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.value_fields import filled
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule("SX237", visits=AttributeProto, needs="ref_attr_name", by_form=True)
def reference_with_value(one: AttributeProto, context: Context) -> Iterator[Finding]:
    found = filled(one)
    if one.ref_attr_name and found:
        says = f"it refers to {brief(one.ref_attr_name)}, and {' and '.join(found)} holds a value"
        yield Finding("", says, "keep the reference or the value")
