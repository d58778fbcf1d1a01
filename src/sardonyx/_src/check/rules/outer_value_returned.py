"""SX115 outer-value-returned: a nested graph lists a value of an outer graph among its outputs.

Clause: IR.md, "Nodes": outer names serve as node inputs
Catalogue: SUB-08
Why:    the outputs of a nested graph are values of its own; many readers do not find the outer one.
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

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX115", visits=GraphProto)
def outer_value_returned(graph: GraphProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    if body.kind != "nested" or body.outer is None:
        return
    for i, value in enumerate(graph.output):
        if value.name and body.own(value.name) is None and body.outer.sees(value.name, body.holder):
            says = f"{brief(value.name)} belongs to an outer graph"
            yield Finding(f"output[{i}]", says, "pass the value through an Identity in this graph")
