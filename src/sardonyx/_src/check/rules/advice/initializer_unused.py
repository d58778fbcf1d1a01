"""SX901 initializer-unused: nothing reads an initializer.

Clause: none: the specification allows it
Catalogue: -
Why:    it takes up space in the file without effect.  From 1 MiB on, this is a warning.
Bad:    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.liveness import is_fully_defined, read_in
from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.check.engine.body import Definition
from sardonyx._src.check.records.tensors import bytes_of
from sardonyx._src.proto.messages import GraphProto, TensorProto
from sardonyx._src.proto.record import brief

WARNING_BYTES = 1 << 20  # bytes


@rule(
    "SX901",
    "info",
    visits=GraphProto,
    needs="initializer sparse_initializer",
    suppressed_by="SX103",
    group="style",
)
def check_initializer_unused(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    unread = body.initializers.keys() - read_in(body, context.document) - body.inputs.keys() - {""}
    for name in unread if unread and is_fully_defined(body) else ():
        where = body.initializers[name]
        tensor = values_of(graph, where)
        size = (bytes_of(tensor) or 0) if tensor is not None else 0
        severity: Severity = "warning" if size >= WARNING_BYTES else "info"
        message = f"nothing reads {brief(name)}, of {size} bytes"
        yield Finding(str(where), message, "drop it, or correct the intended reference", severity)


def values_of(graph: GraphProto, where: Definition) -> TensorProto | None:
    """The dense tensor of a definition, or the values of a sparse one."""
    if where.field == "initializer":
        return graph.initializer[where.position]
    return graph.sparse_initializer[where.position].values
