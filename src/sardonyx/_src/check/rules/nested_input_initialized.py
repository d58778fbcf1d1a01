"""SX125 nested-input-initialized: a name is both input and initializer of a nested graph.

Clause: IR.md, "Nodes"; "Graphs"
Catalogue: SUB-03
Why:    from IR version 4 on a nested graph gets its inputs from the node that holds it, unless that operator says
        otherwise; nobody would ever see the default.
Bad:    g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) <float[2] v = {1, 2}> {
            k2 = Identity(k) w = Abs(v)
          }> (n, c, x)
        }
Good:   g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) {
            k2 = Identity(k) w = Abs(v)
          }> (n, c, x)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX125", visits=GraphProto, since=4)
def nested_input_initialized(graph: GraphProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    if body.kind == "nested":
        for name, where in body.initializers.items():
            if name and name in body.inputs:
                says = f"{brief(name)} is {body.inputs[name]} of the nested graph, too"
                yield Finding(str(where), says, "drop the initializer, or the input if the value is constant")
