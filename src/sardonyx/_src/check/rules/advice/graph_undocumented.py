"""SX920 graph-undocumented: a graph has no documentation.

Clause: IR.md, "Graphs", doc_string
Catalogue: STY-01
Why:    users of the model need to know what it is for.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g @{doc_string: "The magnitudes of x."} (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto


@rule("SX920", "info", visits=GraphProto, group="style")
def check_graph_undocumented(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    if not graph.doc_string:
        yield Finding("doc_string", "the graph has no doc_string", "document what it computes")
