"""SX413 call-attribute-missing: a call leaves out an attribute that an operator in the function requires.

Clause: IR.md, "Functions"; Operators.md
Catalogue: FUN-18
Why:    without a value and a default the operator goes without the attribute.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[4] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Concat <axis: int = @a> (v, v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[4] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Concat <axis: int = @a> (v, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import key_of
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX413", visits=NodeProto, since=8, by_form=True)
def call_attribute_missing(node: NodeProto, context: Context) -> Iterator[Finding]:
    callee = context.callee
    if callee is None or not callee.attribute:
        return
    given = {one.name for one in node.attribute}
    for name, op_type in context.document.formals[key_of(callee)].required.items():
        if name not in given:
            says = f"{brief(name)} is left out; {op_type} in the function requires it"
            yield Finding("attribute", says, f"pass {name}")
