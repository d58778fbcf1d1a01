"""SX012 graph-missing: the model has no graph.

Clause: IR.md, "Models"
Catalogue: MOD-03
Why:    the graph is what a model computes; without one there is nothing to run.
Bad:    {ir_version: 10, domain: "com.example", producer_name: "p", producer_version: "1", opset_import: [21]}
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto


@rule("SX012", visits=ModelProto, suppressed_by="SX003")
def check_graph_missing(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    if model.graph is None:
        yield Finding(
            "graph", "the model has no graph", "export the model again; functions alone are not a model"
        )
