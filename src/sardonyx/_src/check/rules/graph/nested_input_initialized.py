"""SX125 nested-input-initialized: a name is both input and initializer of a nested graph.

Clause: IR.md, "Nodes"; "Graphs"
Catalogue: SUB-03
Why:    from IR version 4 on, a nested graph gets its inputs from the node that contains it, unless the operator defines
        otherwise; the default is never used.
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

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX125", visits=GraphProto, since=4)
def check_nested_input_initialized(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    if body.kind == "nested":
        for name, where in body.initializers.items():
            if name and name in body.inputs:
                message = f"{brief(name)} is also {body.inputs[name]} of the nested graph"
                yield Finding(
                    str(where), message, "drop the initializer, or the input if the value is constant"
                )
