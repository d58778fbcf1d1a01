"""SX409 call-arity: a call has more inputs or outputs than its function.

Clause: IR.md, "Nodes"; "Functions"
Catalogue: FUN-16
Why:    the function does not use these inputs or compute these outputs.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x, x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX409", visits=NodeProto, since=8, cached_by_fingerprint=True)
def check_call_arity(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    callee = context.callee
    if callee is None:
        return
    for field in ("input", "output"):
        declared, count = len(getattr(callee, field)), len(getattr(node, field))
        if count > declared:
            message = f"{brief(callee.name)} must have at most {declared} {field}s; got {count}"
            yield Finding(f"{field}[{declared}]", message, "drop the surplus, or correct the function")
