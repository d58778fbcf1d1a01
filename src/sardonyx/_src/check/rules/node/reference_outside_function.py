"""SX236 reference-outside-function: an attribute outside functions refers to a function's attribute.

Clause: IR.md, "Attributes", ref_attr_name
Catalogue: ATT-07
Why:    there is no call that could provide the value.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <axis: int = @a> (x) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule("SX236", visits=AttributeProto, needs="ref_attr_name", cached_by_fingerprint=True)
def check_reference_outside_function(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    if attribute.ref_attr_name and context.body is not None and context.body.function is None:
        message = f"it refers to {brief(attribute.ref_attr_name)}, but is not inside a function"
        yield Finding("ref_attr_name", message, "write the value itself")
