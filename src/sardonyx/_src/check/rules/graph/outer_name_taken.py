"""SX120 outer-name-taken: a node of a nested graph defines a name that is visible from outside.

Clause: IR.md, "Nodes": outer names
Catalogue: SUB-01 FUN-24 TRN-06
Why:    a reference to the name could mean the outer or the inner value.
Bad:    g (float[2] x, bool c) => (float[2] y) {
          k = Abs(x)
          y = If <then_branch = t () => (float[2] k) { k = Neg(x) }, else_branch = e () => (float[2] b) { b = Neg(k) }> (c)
        }
Good:   g (float[2] x, bool c) => (float[2] y) {
          k = Abs(x)
          y = If <then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Neg(k) }> (c)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX120", visits=GraphProto)
def check_outer_name_taken(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    if body.outer is None:
        return
    for name in body.producers:
        if body.outer.is_visible(name, body.outer_node):
            message = f"{brief(name)} is already visible from outside"
            yield Finding(str(body.node_output(name)), message, "rename the inner value")
