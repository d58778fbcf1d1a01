"""SX118 default-unfit: an initializer does not fit the input whose default it is.

Clause: IR.md, "Graphs", initializer
Catalogue: GRA-19
Why:    left out, the input would have a value that its own type forbids.
Bad:    g (float[2] x, float[3] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.types import misfit
from sardonyx._src.proto.messages import GraphProto


@rule("SX118", visits=GraphProto, unless="SX103 SX300 SX301 SX134 SX328 SX350")
def default_unfit(graph: GraphProto, context: Context) -> Iterator[Finding]:
    inputs = {v.name: v for v in graph.input}
    has_stars = context.ir_version <= 3
    for i, tensor in enumerate(graph.initializer):
        value = inputs.get(tensor.name)
        if value is not None and (says := misfit(value.type, tensor, has_stars=has_stars)):
            yield Finding(f"initializer[{i}]", says, "correct the type of the input, or the initializer")
    for i, sparse in enumerate(graph.sparse_initializer):
        value = inputs.get(sparse.values.name) if sparse.values is not None and sparse.values.name else None
        if value is not None and (says := misfit(value.type, sparse, has_stars=has_stars)):
            at = f"sparse_initializer[{i}]"
            yield Finding(at, says, "correct the type of the input, or the initializer")
