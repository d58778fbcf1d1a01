"""SX111 node-before-producer: a node precedes the producer of one of its inputs.

Clause: IR.md, "Graphs", "Nodes": topological order
Catalogue: GRA-08 SUB-07 SUB-12 FUN-06 TRN-06 TRN-08
Why:    nodes run in list order; a subgraph can use an outer value only if it is computed before the node that
        contains the subgraph.
Bad:    g (float[2] x) => (float[2] y) { y = Neg(a) a = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { a = Abs(x) y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import in_same_cycle
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX111", visits=(GraphProto, FunctionProto), suppressed_by="SX110")
def check_node_before_producer(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per value."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    reported: set[str] = set()
    for i, slot, name in body.unresolved_reads:
        if name in reported or body.is_visible(name, i):
            continue
        later = body.later_definition(name)
        if later is not None and not in_same_cycle(body, i, *later):
            reported.add(name)
            message = f"{brief(name)} is defined later, by {later[1]}{'' if later[0] is body else ' of an outer graph'}"
            yield Finding(f"node[{i}].input[{slot}]", message, "sort the nodes, producers first")
