"""SX409 call-arity: a call gives more inputs, or takes more outputs, than its function has.

Clause: IR.md, "Nodes"; "Functions"
Catalogue: FUN-16
Why:    the function has no use for the inputs, and makes no such outputs.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x, x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX409", visits=NodeProto, since=8, by_form=True)
def call_arity(node: NodeProto, context: Context) -> Iterator[Finding]:
    callee = context.callee
    if callee is None:
        return
    for field in ("input", "output"):
        has, given = len(getattr(callee, field)), len(getattr(node, field))
        if given > has:
            says = f"{brief(callee.name)} has {has} {field}s, the call names {given}"
            yield Finding(f"{field}[{has}]", says, "drop those that are too many, or correct the function")
