"""SX117 value-info-of-border: a value_info entry describes an input or output of the graph.

Clause: IR.md, "Graphs", value_info
Catalogue: GRA-17
Why:    inputs and outputs have their own types, which a second declaration may contradict.
Bad:    g (float[2] x) => (float[2] y) <float[2] x> { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX117", "warning", visits=GraphProto, group="strict")
def check_value_info_of_border(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    if not graph.has("value_info"):
        return
    border = {v.name: f"output[{i}]" for i, v in enumerate(graph.output)}
    border |= {v.name: f"input[{i}]" for i, v in enumerate(graph.input)}
    for i, value in enumerate(graph.value_info):
        if value.name in border:
            message = f"{brief(value.name)} is {border[value.name]}, which has a type of its own"
            yield Finding(f"value_info[{i}]", message, "drop the entry")
