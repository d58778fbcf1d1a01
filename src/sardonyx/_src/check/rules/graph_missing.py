"""SX012 graph-missing: the model has no graph.

Clause: IR.md, "Models"
Catalogue: MOD-03
Why:    a model is about its graph; without one there is nothing to run.
Bad:    {ir_version: 10, domain: "com.example", producer_name: "p", producer_version: "1", opset_import: [21]}
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import ModelProto


@rule("SX012", visits=ModelProto, unless="SX003")
def graph_missing(model: ModelProto, context: Context) -> Iterator[Finding]:
    if model.graph is None:
        yield Finding(
            "graph", "the model has no graph", "export the model again; functions alone are no model"
        )
