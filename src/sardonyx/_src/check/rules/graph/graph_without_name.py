"""SX100 graph-without-name: a graph has no name.

Clause: IR.md, "Graphs", name
Catalogue: GRA-01 TRN-09
Why:    every graph, including nested ones, must have a name; tools identify graphs by it.
Bad:    (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto


@rule("SX100", visits=GraphProto, suppressed_by="SX003")
def check_graph_without_name(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    if not graph.name:
        yield Finding("name", "the graph has no name", "give it a name that no other graph of the model has")
