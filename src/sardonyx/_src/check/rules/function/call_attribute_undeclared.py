"""SX410 call-attribute-undeclared: a call passes an attribute that its function does not declare.

Clause: IR.md, "Nodes"; "Functions"
Catalogue: FUN-17
Why:    nothing in the function can refer to it, so it has no effect.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <b = 1> (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX410", visits=NodeProto, since=8, needs="attribute", cached_by_fingerprint=True)
def check_call_attribute_undeclared(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    callee = context.callee
    if callee is None:
        return
    declared = context.document.formals[key_of(callee)].declared
    for i, attribute in enumerate(node.attribute):
        if attribute.name and attribute.name not in declared:
            message = f"{brief(callee.name)} declares no attribute {brief(attribute.name)}{context.near(attribute.name, declared)}"
            yield Finding(f"attribute[{i}]", message, "correct the name, or drop the attribute")
