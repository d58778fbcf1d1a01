"""SX112 graph-cyclic: nodes need their own results.

Clause: IR.md, "Graphs": the graph is acyclic
Catalogue: GRA-09
Why:    no order of the nodes makes every input before it is read, so the graph cannot run.
Bad:    g (float[2] x) => (float[2] y) { a = Add(x, b) b = Abs(a) y = Neg(b) }
Good:   g (float[2] x) => (float[2] y) { a = Add(x, x) b = Abs(a) y = Neg(b) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.bodies import Body
from sardonyx.check.context import Context
from sardonyx.check.reading import circles, read_by
from sardonyx.proto.messages import FunctionProto, GraphProto, NodeProto


@rule("SX112", visits=(GraphProto, FunctionProto), unless="SX110")
def graph_cyclic(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    if all(is_in_order(body, i, node) for i, node in enumerate(graph.node)):
        return
    for group in circles(body):
        chain = " -> ".join(f"node[{i}]" for i in group[:8]) + (" ..." if len(group) > 8 else "")
        says = f"{'the nodes need each other' if len(group) > 1 else 'the node needs itself'}: {chain}"
        yield Finding(
            f"node[{group[0]}]", says, "break the circle: one of the inputs must come from elsewhere"
        )


def is_in_order(body: Body, i: int, node: NodeProto) -> bool:
    """Whether the node and its subgraphs read nothing that the body makes only here or later."""
    names = read_by(node) if "attribute" in node.__dict__ else node.input
    writers = body.writers
    return not any(
        name in writers and writers[name].position >= i and not body.sees(name, i) for name in names if name
    )
