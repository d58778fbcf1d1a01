"""SX411 call-attribute-type-differs: a call passes an attribute with another type than the function's default.

Clause: IR.md, "Nodes"; "Functions"
Catalogue: FUN-17
Why:    the operators of the body expect the type of the default.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0.5> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.check.records.attribute_fields import attribute_type_of
from sardonyx._src.check.records.names import attribute_type
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule(
    "SX411",
    visits=NodeProto,
    since=9,
    suppressed_by="SX231 SX232",
    needs="attribute",
    cached_by_fingerprint=True,
)
def check_call_attribute_type_differs(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    callee = context.callee
    if callee is None:
        return
    defaults = context.document.formals[key_of(callee)].defaults
    for i, attribute in enumerate(node.attribute):
        expected = defaults.get(attribute.name, 0)
        if expected and attribute_type_of(attribute) not in (0, expected):
            message = f"{brief(attribute.name)} must be {attribute_type(expected)}, as its default; got {attribute_type(attribute_type_of(attribute))}"
            yield Finding(f"attribute[{i}]", message, f"write the value as {attribute_type(expected)}")
