"""SX118 default-unfit: an initializer does not match the type of the input whose default it is.

Clause: IR.md, "Graphs", initializer
Catalogue: GRA-19
Why:    if the input is omitted, its value violates its own type.
Bad:    g (float[2] x, float[3] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.declared_types import describe_misfit
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto


@rule("SX118", visits=GraphProto, suppressed_by="SX103 SX300 SX301 SX134 SX328 SX350")
def check_default_unfit(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    inputs = {v.name: v for v in graph.input}
    has_stars = context.ir_version <= 3
    for i, tensor in enumerate(graph.initializer):
        value = inputs.get(tensor.name)
        if value is not None and (message := describe_misfit(value.type, tensor, has_stars=has_stars)):
            yield Finding(f"initializer[{i}]", message, "correct the type of the input, or the initializer")
    for i, sparse in enumerate(graph.sparse_initializer):
        value = inputs.get(sparse.values.name) if sparse.values is not None and sparse.values.name else None
        if value is not None and (message := describe_misfit(value.type, sparse, has_stars=has_stars)):
            path = f"sparse_initializer[{i}]"
            yield Finding(path, message, "correct the type of the input, or the initializer")
