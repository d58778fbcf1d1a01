"""SX115 outer-value-returned: a nested graph lists a value of an outer graph among its outputs.

Clause: IR.md, "Nodes": outer names serve as node inputs
Catalogue: SUB-08
Why:    the outputs of a nested graph are values of its own; many readers do not resolve the outer one.
Bad:    g (float[2] x, bool c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] x) {}, else_branch = e () => (float[2] b) { b = Neg(x) }> (c)
        }
Good:   g (float[2] x, bool c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] a) { a = Identity(x) },
                  else_branch = e () => (float[2] b) { b = Neg(x) }> (c)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX115", visits=GraphProto)
def check_outer_value_returned(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    if body.kind != "nested" or body.outer is None:
        return
    for i, value in enumerate(graph.output):
        if (
            value.name
            and body.definition(value.name) is None
            and body.outer.is_visible(value.name, body.outer_node)
        ):
            message = f"{brief(value.name)} belongs to an outer graph"
            yield Finding(f"output[{i}]", message, "pass the value through an Identity in this graph")
