"""SX105 value-without-name: an input or output of a graph has no name.

Clause: IR.md, "Graphs"; onnx.proto, ValueInfoProto.name
Catalogue: GRA-14
Why:    values are referred to by their names alone.
Bad:    g (float[2] x, float[2] "") => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.proto.messages import GraphProto


@rule("SX105", visits=GraphProto)
def value_without_name(graph: GraphProto, context: Context) -> Iterator[Finding]:
    for field in ("input", "output"):
        for i, value in enumerate(getattr(graph, field)):
            if not value.name:
                yield Finding(f"{field}[{i}]", f"the {field} has no name", "name it")
