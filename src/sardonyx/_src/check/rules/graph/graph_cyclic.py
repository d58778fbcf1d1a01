"""SX112 graph-cyclic: nodes depend on their own results.

Clause: IR.md, "Graphs": the graph is acyclic
Catalogue: GRA-09 SUB-12 FUN-06
Why:    no order of the nodes computes every input before it is read, so the graph cannot run.
Bad:    g (float[2] x) => (float[2] y) { a = Add(x, b) b = Abs(a) y = Neg(b) }
Good:   g (float[2] x) => (float[2] y) { a = Add(x, x) b = Abs(a) y = Neg(b) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import cycles, reads_before_writes
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto


@rule("SX112", visits=(GraphProto, FunctionProto), suppressed_by="SX110 SX120")
def check_graph_cyclic(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    if not reads_before_writes(body):
        return
    for group in cycles(body):
        chain = " -> ".join(f"node[{i}]" for i in group[:8]) + (" ..." if len(group) > 8 else "")
        message = (
            f"{'the nodes depend on each other' if len(group) > 1 else 'the node depends on itself'}: {chain}"
        )
        yield Finding(f"node[{group[0]}]", message, "break the cycle: take one of the inputs from elsewhere")
