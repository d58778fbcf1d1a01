"""SX104 initializer-without-name: an initializer has no name.

Clause: onnx.proto, GraphProto.initializer, SparseTensorProto.values
Catalogue: GRA-07
Why:    nothing can refer to it; a sparse initializer has its name in its values.
Bad:    g (float[2] x) => (float[2] y) <float[2] = {1, 2}> { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import initializer_names
from sardonyx._src.proto.messages import GraphProto


@rule("SX104", visits=GraphProto, suppressed_by="SX320")
def check_initializer_without_name(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    if context.ir_version >= 6 or not graph.sparse_initializer:
        for where, name in initializer_names(graph):
            if not name:
                yield Finding(
                    str(where), "the initializer has no name", "name it, or drop it if nothing reads it"
                )
