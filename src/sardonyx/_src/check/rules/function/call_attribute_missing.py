"""SX413 call-attribute-missing: a call omits an attribute that an operator in the function requires.

Clause: IR.md, "Functions"; Operators.md
Catalogue: FUN-18
Why:    without a value or default, the operator has no value for the attribute.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[4] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Concat <axis: int = @a> (v, v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[4] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Concat <axis: int = @a> (v, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX413", visits=NodeProto, since=8, cached_by_fingerprint=True)
def check_call_attribute_missing(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    callee = context.callee
    if callee is None or not callee.attribute:
        return
    names = {attribute.name for attribute in node.attribute}
    for name, op_type in context.document.formals[key_of(callee)].required.items():
        if name not in names:
            message = f"{brief(name)} is missing; {op_type} in the function requires it"
            yield Finding("attribute", message, f"pass {name}")
