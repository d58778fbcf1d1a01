"""SX902 node-unused: no output of the graph or function depends on a node.

Clause: none: the specification allows it
Catalogue: -
Why:    its computation is wasted, or an intended output is not listed.
Bad:    g (float[2] x) => (float[2] y) { a = Neg(x) b = Exp(a) y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { a = Neg(x) y = Exp(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.liveness import dead_nodes, is_fully_defined
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto


@rule(
    "SX902",
    "info",
    visits=(GraphProto, FunctionProto),
    needs="node",
    suppressed_by="SX123 SX110",
    group="style",
)
def check_node_unused(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per body, which may have many such nodes."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    if not graph.output or not is_fully_defined(body):
        return
    dead = dead_nodes(body, context.document)
    if dead:
        more = f", nor on {len(dead) - 1} other nodes here" if len(dead) > 1 else ""
        message = f"no output depends on this node{more}"
        yield Finding(f"node[{dead[0]}]", message, "drop the nodes, or list their results among the outputs")
