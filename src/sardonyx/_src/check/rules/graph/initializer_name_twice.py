"""SX103 initializer-name-twice: two initializers of one graph, dense or sparse, have the same name.

Clause: onnx.proto, GraphProto.initializer, sparse_initializer
Catalogue: GRA-06
Why:    a reference to the name is ambiguous.
Bad:    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] w = {3, 4}> { y = Add(x, w) }
Good:   g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}> { y = Sum(x, w, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import Definition, initializer_names
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX103", visits=GraphProto)
def check_initializer_name_twice(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, Definition] = {}
    for where, name in initializer_names(graph):
        if name and first.setdefault(name, where) != where:
            message = f"{brief(name)} is already the name of {first[name]}"
            yield Finding(str(where), message, "rename one of the two, or drop it if they are equal")
