"""SX117 value-info-of-border: a value_info entry is about an input or output of the graph.

Clause: IR.md, "Graphs", value_info
Catalogue: GRA-17
Why:    inputs and outputs carry their types themselves; a second statement may contradict the first.
Bad:    g (float[2] x) => (float[2] y) <float[2] x> { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX117", "warning", visits=GraphProto)
def value_info_of_border(graph: GraphProto, context: Context) -> Iterator[Finding]:
    if not graph.has("value_info"):
        return
    border = {v.name: f"output[{i}]" for i, v in enumerate(graph.output)}
    border |= {v.name: f"input[{i}]" for i, v in enumerate(graph.input)}
    for i, value in enumerate(graph.value_info):
        if value.name in border:
            says = f"{brief(value.name)} is {border[value.name]}, which has a type of its own"
            yield Finding(f"value_info[{i}]", says, "drop the entry")
