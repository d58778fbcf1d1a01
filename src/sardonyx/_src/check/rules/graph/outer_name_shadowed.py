"""SX121 outer-name-shadowed: an input or initializer of a nested graph has a name that is visible from outside.

Clause: IR.md (1.23), "Nodes": unique definition
Catalogue: SUB-02 TRN-06
Why:    a reference to the name could mean the outer or the inner value.
Bad:    g (float[2] x, bool c) => (float[2] y) {
          k = Abs(x)
          y = If <then_branch = t () => (float[2] a) <float[2] k = {1, 2}> { a = Neg(k) },
                  else_branch = e () => (float[2] b) { b = Neg(k) }> (c)
        }
Good:   g (float[2] x, bool c) => (float[2] y) {
          k = Abs(x)
          y = If <then_branch = t () => (float[2] a) <float[2] w = {1, 2}> { a = Neg(w) },
                  else_branch = e () => (float[2] b) { b = Neg(k) }> (c)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX121", visits=GraphProto)
def check_outer_name_shadowed(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    if body.outer is None:
        return
    for name, where in (body.initializers | body.inputs).items():
        if name and body.outer.is_visible(name, body.outer_node):
            yield Finding(
                str(where), f"{brief(name)} is already visible from outside", "rename the inner value"
            )
