"""SX102 output-name-twice: a graph lists one value twice among its outputs.

Clause: IR.md, "Names Within a Graph"
Catalogue: GRA-05 TRN-06
Why:    a caller that fetches outputs by name gets only one of them.  The outputs of an algorithm are combined with those
        of the main graph.
Bad:    g (float[2] x) => (float[2] y, float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y, float[2] z) { y = Abs(x) z = Identity(y) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import output_names
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX102", "warning", visits=GraphProto)
def check_output_name_twice(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    first: dict[str, str] = {}
    if body.kind == "algorithm" and body.outer is not None:
        outer = enumerate(output_names(body.outer.record))
        first |= {
            name: f"output[{i}] of the main graph" for i, name in outer if body.definition(name) is None
        }
    for i, value in enumerate(graph.output):
        path = f"output[{i}]"
        if value.name and (other := first.setdefault(value.name, path)) != path:
            message = f"{brief(value.name)} is already {other}"
            yield Finding(
                f"{path}.name", message, "pass the value through an Identity, or drop one of the two"
            )
