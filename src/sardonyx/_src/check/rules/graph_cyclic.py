"""SX112 graph-cyclic: nodes need their own results.

Clause: IR.md, "Graphs": the graph is acyclic
Catalogue: GRA-09 SUB-12 FUN-06
Why:    no order of the nodes makes every input before it is read, so the graph cannot run.
Bad:    g (float[2] x) => (float[2] y) { a = Add(x, b) b = Abs(a) y = Neg(b) }
Good:   g (float[2] x) => (float[2] y) { a = Add(x, x) b = Abs(a) y = Neg(b) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.reading import circles, is_disordered
from sardonyx._src.proto.messages import FunctionProto, GraphProto


@rule("SX112", visits=(GraphProto, FunctionProto), unless="SX110 SX120")
def graph_cyclic(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    if not is_disordered(body):
        return
    for group in circles(body):
        chain = " -> ".join(f"node[{i}]" for i in group[:8]) + (" ..." if len(group) > 8 else "")
        says = f"{'the nodes need each other' if len(group) > 1 else 'the node needs itself'}: {chain}"
        yield Finding(
            f"node[{group[0]}]", says, "break the circle: one of the inputs must come from elsewhere"
        )
