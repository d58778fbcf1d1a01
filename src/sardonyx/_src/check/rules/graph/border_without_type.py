"""SX106 border-without-type: an input or output of the main graph has no type.

Clause: IR.md, "Graphs"; onnx.proto, ValueInfoProto.type
Catalogue: GRA-12
Why:    callers need the types to feed inputs and to interpret outputs.
Bad:    g (x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto


@rule("SX106", visits=GraphProto, suppressed_by="SX003")
def check_border_without_type(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    assert context.body is not None, "a graph has a body"
    if context.body.kind != "main":
        return
    for field in ("input", "output"):
        for i, value in enumerate(getattr(graph, field)):
            if value.type is None:
                message = f"the {field} of the main graph has no type"
                yield Finding(
                    f"{field}[{i}]", message, "state the element type, and as many sizes as are known"
                )
