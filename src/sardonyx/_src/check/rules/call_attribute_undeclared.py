"""SX410 call-attribute-undeclared: a call passes an attribute that its function does not declare.

Clause: IR.md, "Nodes"; "Functions"
Catalogue: FUN-17
Why:    nothing in the function can refer to it; what it asks for does not happen.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <b = 1> (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import key_of
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX410", visits=NodeProto, since=8, needs="attribute", by_form=True)
def call_attribute_undeclared(node: NodeProto, context: Context) -> Iterator[Finding]:
    callee = context.callee
    if callee is None:
        return
    declared = context.document.formals[key_of(callee)].declared
    for i, one in enumerate(node.attribute):
        if one.name and one.name not in declared:
            says = f"{brief(callee.name)} declares no attribute {brief(one.name)}{context.near(one.name, declared)}"
            yield Finding(f"attribute[{i}]", says, "correct the name, or drop the attribute")
