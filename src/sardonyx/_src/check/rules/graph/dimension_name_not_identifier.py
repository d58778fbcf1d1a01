"""SX131 dimension-name-not-identifier: names of dimension variables are not C90 identifiers.

Clause: IR.md, "Static tensor shapes"
Catalogue: NAM-02
Why:    tools that generate code from models need names of letters, digits and underscores; others accept any name.
Bad:    g (float["batch size"] x) => (float["batch size"] y) { y = Abs(x) }
Good:   g (float[batch_size] x) => (float[batch_size] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import is_identifier, variables_in
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX131", "warning", visits=(GraphProto, FunctionProto), suppressed_by="SX002", group="strict")
def check_dimension_name_not_identifier(
    graph: GraphProto | FunctionProto, context: RuleContext
) -> Iterator[Finding]:
    """Reported once per body."""
    fields = ("input", "output", "value_info") if isinstance(graph, GraphProto) else ("value_info",)
    others: set[str] = set()
    first = None
    for field in fields:
        for i, value in enumerate(getattr(graph, field)):
            for name in variables_in(value.type):
                if name not in ("", "*") and not is_identifier(name):
                    first = first or (f"{field}[{i}]", name)
                    others.add(name)
    if first is not None:
        more = f", nor are {len(others) - 1} other variables here" if len(others) > 1 else ""
        message = f"the dimension variable {brief(first[1])} is not an identifier{more}"
        yield Finding(first[0], message, "use letters, digits and underscores, not beginning with a digit")
