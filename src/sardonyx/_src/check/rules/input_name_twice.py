"""SX101 input-name-twice: two inputs of one graph have the same name.

Clause: IR.md, "Names Within a Graph"
Catalogue: GRA-04 SUB-15 TRN-06
Why:    a reader of the name cannot tell which of the two values it gets.
Bad:    g (float[2] x, float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX101", visits=GraphProto)
def input_name_twice(graph: GraphProto, context: Context) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, value in enumerate(graph.input):
        if value.name and first.setdefault(value.name, i) != i:
            says = f"{brief(value.name)} is already the name of input[{first[value.name]}]"
            yield Finding(f"input[{i}].name", says, "rename one of the two inputs")
