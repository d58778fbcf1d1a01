"""SX902 node-unused: what nodes compute leads to no output of their graph or function.

Clause: none: the specification allows it
Catalogue: -
Why:    readers compute it for nothing, or an output that was meant is not listed.
Bad:    g (float[2] x) => (float[2] y) { a = Neg(x) b = Exp(a) y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { a = Neg(x) y = Exp(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.liveness import dead_nodes, is_whole
from sardonyx._src.proto.messages import FunctionProto, GraphProto


@rule("SX902", "info", visits=(GraphProto, FunctionProto), needs="node", unless="SX123 SX110")
def node_unused(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    """Once for each body, which may have many."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    if not graph.output or not is_whole(body):
        return
    dead = dead_nodes(body, context.document)
    if dead:
        more = f", nor do {len(dead) - 1} other nodes here" if len(dead) > 1 else ""
        says = f"nothing that this node computes leads to an output{more}"
        yield Finding(f"node[{dead[0]}]", says, "drop the nodes, or list their results among the outputs")
