"""SX103 initializer-name-twice: two initializers of one graph, dense or sparse, have the same name.

Clause: onnx.proto, GraphProto.initializer, sparse_initializer
Catalogue: GRA-06
Why:    a reader of the name cannot tell which of the two tensors it gets.
Bad:    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] w = {3, 4}> { y = Add(x, w) }
Good:   g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}> { y = Sum(x, w, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import Definition, initializer_names
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX103", visits=GraphProto)
def initializer_name_twice(graph: GraphProto, context: Context) -> Iterator[Finding]:
    first: dict[str, Definition] = {}
    for where, name in initializer_names(graph):
        if name and first.setdefault(name, where) != where:
            says = f"{brief(name)} is already the name of {first[name]}"
            yield Finding(str(where), says, "rename one of the two, or drop it if they are equal")
