"""SX100 graph-without-name: a graph has no name.

Clause: IR.md, "Graphs", name
Catalogue: GRA-01 TRN-09
Why:    every graph, nested ones too, has to have a name; tools show and key graphs by it.
Bad:    (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import GraphProto


@rule("SX100", visits=GraphProto, unless="SX003")
def graph_without_name(graph: GraphProto, context: Context) -> Iterator[Finding]:
    if not graph.name:
        yield Finding(
            "name", "the graph has no name", "give it one; any that no other graph of the model has"
        )
