"""SX111 node-before-producer: a node stands before the node that makes one of its inputs.

Clause: IR.md, "Graphs", "Nodes": topological order
Catalogue: GRA-08 SUB-07 SUB-12 FUN-06 TRN-06 TRN-08
Why:    nodes run in the order of the list; a subgraph sees outer values only if they are made before the node that
        holds it.
Bad:    g (float[2] x) => (float[2] y) { y = Neg(a) a = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { a = Abs(x) y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.reading import in_one_circle
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX111", visits=(GraphProto, FunctionProto), unless="SX110")
def node_before_producer(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    """Once for each value."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    told: set[str] = set()
    for i, slot, name in body.unseen:
        if name in told or body.sees(name, i):
            continue
        later = body.later(name)
        if later is not None and not in_one_circle(body, i, *later):
            told.add(name)
            says = f"{brief(name)} is made later, by {later[1]}{'' if later[0] is body else ' of an outer graph'}"
            yield Finding(f"node[{i}].input[{slot}]", says, "sort the nodes, producers first")
