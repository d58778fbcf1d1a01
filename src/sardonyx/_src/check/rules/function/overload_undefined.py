"""SX412 overload-undefined: a node calls an overload of a function that the model does not define.

Clause: IR.md, "Functions"; onnx.proto, NodeProto.overload
Catalogue: FUN-19
Why:    another overload is another function.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F:two (x) }
        <domain: "com.example", overload: "one", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F:one (x) }
        <domain: "com.example", overload: "one", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical


@rule("SX412", "warning", visits=NodeProto, since=10, cached_by_fingerprint=True)
def check_overload_undefined(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    if body is None or not body.functions or context.callee is not None or context.schema is not None:
        return
    known = context.document.overloads.get((canonical(node.domain), node.op_type))
    if known:
        others = ", ".join(map(brief, known[:8]))
        message = f"{brief(node.op_type)} has no overload {brief(node.overload)}, but {others}"
        yield Finding("overload", message, "name one of these, or add the function")
