"""SX101 input-name-twice: two inputs of one graph have the same name.

Clause: IR.md, "Names Within a Graph"
Catalogue: GRA-04 SUB-15 TRN-06
Why:    a reference to the name is ambiguous.
Bad:    g (float[2] x, float[2] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX101", visits=GraphProto)
def check_input_name_twice(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, value in enumerate(graph.input):
        if value.name and first.setdefault(value.name, i) != i:
            message = f"{brief(value.name)} is already the name of input[{first[value.name]}]"
            yield Finding(f"input[{i}].name", message, "rename one of the two inputs")
