"""SX119 node-name-twice: two nodes of one graph have the same name.

Clause: IR.md, "Names Within a Graph"
Catalogue: GRA-20 SUB-18
Why:    messages and tools that go by the names of nodes cannot tell the two apart, and some readers refuse the model.
Bad:    g (float[2] x) => (float[2] y) { [n] a = Abs(x) [n] y = Neg(a) }
Good:   g (float[2] x) => (float[2] y) { [n] a = Abs(x) [m] y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.proto.messages import FunctionProto, GraphProto


@rule("SX119", visits=(GraphProto, FunctionProto))
def node_name_twice(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, node in enumerate(graph.node):
        name = node.__dict__.get("name")
        if name and first.setdefault(name, i) != i:
            yield Finding(
                f"node[{i}].name", f"node[{first[name]}] has the same name", "rename one of the two nodes"
            )
