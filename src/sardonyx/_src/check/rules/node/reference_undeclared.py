"""SX238 reference-undeclared: an attribute refers to an attribute that its function does not declare.

Clause: IR.md, "Attributes", "Functions"
Catalogue: ATT-09
Why:    no call can provide the value.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Softmax <axis: int = @b> (v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule(
    "SX238",
    visits=AttributeProto,
    since=8,
    suppressed_by="SX404",
    needs="ref_attr_name",
    cached_by_fingerprint=True,
)
def check_reference_undeclared(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    if not attribute.ref_attr_name or context.body is None or context.body.function is None:
        return
    function = context.body.function
    declared = context.document.formals[key_of(function)].declared
    if attribute.ref_attr_name not in declared:
        near = context.near(attribute.ref_attr_name, declared)
        message = f"{brief(function.name)} declares no attribute {brief(attribute.ref_attr_name)}{near}"
        yield Finding("ref_attr_name", message, "correct the name, or declare the attribute")
