"""SX102 output-name-twice: a graph lists one value twice among its outputs.

Clause: IR.md, "Names Within a Graph"
Catalogue: GRA-05
Why:    whoever asks for outputs by name gets one of them only.
Bad:    g (float[2] x) => (float[2] y, float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y, float[2] z) { y = Abs(x) z = Identity(y) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.proto.messages import GraphProto
from sardonyx.proto.record import brief


@rule("SX102", "warning", visits=GraphProto)
def output_name_twice(graph: GraphProto, context: Context) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, value in enumerate(graph.output):
        if value.name and first.setdefault(value.name, i) != i:
            says = f"{brief(value.name)} is output[{first[value.name]}] already"
            yield Finding(
                f"output[{i}].name", says, "pass the value through an Identity, or drop one of the two"
            )
