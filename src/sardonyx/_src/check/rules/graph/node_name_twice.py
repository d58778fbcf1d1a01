"""SX119 node-name-twice: two nodes of one graph have the same name.

Clause: IR.md, "Names Within a Graph"
Catalogue: GRA-20 SUB-18 TRN-06
Why:    messages and tools that refer to nodes by name cannot distinguish the two, and some readers refuse the model.
Bad:    g (float[2] x) => (float[2] y) { [n] a = Abs(x) [n] y = Neg(a) }
Good:   g (float[2] x) => (float[2] y) { [n] a = Abs(x) [m] y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto


@rule("SX119", visits=(GraphProto, FunctionProto))
def check_node_name_twice(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """An algorithm of a training step is combined with the main graph, so names must be unique across both."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    joined = body.kind == "algorithm"
    if not joined and len(set(body.node_names)) == len(body.node_names):
        return
    first: dict[str, str] = {}
    if body.kind == "algorithm" and body.outer is not None:
        first |= {
            node.name: f"node[{i}] of the main graph"
            for i, node in enumerate(body.outer.record.node)
            if node.name
        }
    for i, node in enumerate(graph.node):
        name = node.__dict__.get("name")
        if name and (other := first.setdefault(name, f"node[{i}]")) != f"node[{i}]":
            yield Finding(f"node[{i}].name", f"{other} has the same name", "rename one of the two nodes")
