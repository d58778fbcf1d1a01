"""SX901 initializer-unused: nothing reads an initializer.

Clause: none: the specification allows it
Catalogue: -
Why:    it takes room in the file and does nothing.  From 1 MiB on that is a warning.
Bad:    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, Severity, rule
from sardonyx._src.check.bodies import Definition
from sardonyx._src.check.context import Context
from sardonyx._src.check.liveness import is_whole, read_in
from sardonyx._src.check.tensors import bytes_of
from sardonyx._src.proto.messages import GraphProto, TensorProto
from sardonyx._src.proto.record import brief

LARGE = 1 << 20  # bytes


@rule("SX901", "info", visits=GraphProto, needs="initializer sparse_initializer", unless="SX103")
def initializer_unused(graph: GraphProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    unread = body.initializers.keys() - read_in(body, context.document) - body.inputs.keys() - {""}
    for name in unread if unread and is_whole(body) else ():
        where = body.initializers[name]
        tensor = values_of(graph, where)
        size = (bytes_of(tensor) or 0) if tensor is not None else 0
        severity: Severity = "warning" if size >= LARGE else "info"
        says = f"nothing reads {brief(name)}, of {size} bytes"
        yield Finding(str(where), says, "drop it, or correct the name where it is meant", severity)


def values_of(graph: GraphProto, where: Definition) -> TensorProto | None:
    """The dense tensor at a place, or the values of the sparse one."""
    if where.field == "initializer":
        return graph.initializer[where.position]
    return graph.sparse_initializer[where.position].values
