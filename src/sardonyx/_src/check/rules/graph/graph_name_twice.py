"""SX124 graph-name-twice: two graphs of one model have the same name.

Clause: IR.md, "Names Within a Graph"
Catalogue: GRA-21
Why:    messages and tools that refer to graphs by name cannot distinguish the two.
Bad:    g (float[2] x, bool c) => (float[2] y) {
          y = If <then_branch = b () => (float[2] p) { p = Abs(x) }, else_branch = b () => (float[2] q) { q = Neg(x) }> (c)
        }
Good:   g (float[2] x, bool c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import graphs_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX124", "warning", visits=ModelProto, group="strict")
def check_graph_name_twice(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for path, graph in graphs_of(model):
        if graph.name and first.setdefault(graph.name, path) != path:
            message = f"{brief(graph.name)} is also the name of {first[graph.name]}"
            yield Finding(f"{path}.name", message, "rename one of the two graphs")
