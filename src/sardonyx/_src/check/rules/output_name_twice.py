"""SX102 output-name-twice: a graph lists one value twice among its outputs.

Clause: IR.md, "Names Within a Graph"
Catalogue: GRA-05 TRN-06
Why:    whoever asks for outputs by name gets one of them only.  The outputs of an algorithm are joined to those of
        the main graph.
Bad:    g (float[2] x) => (float[2] y, float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y, float[2] z) { y = Abs(x) z = Identity(y) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import output_names
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX102", "warning", visits=GraphProto)
def output_name_twice(graph: GraphProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph has a body"
    first: dict[str, str] = {}
    if body.kind == "algorithm" and body.outer is not None:
        outer = enumerate(output_names(body.outer.record))
        first |= {name: f"output[{i}] of the main graph" for i, name in outer if body.own(name) is None}
    for i, value in enumerate(graph.output):
        at = f"output[{i}]"
        if value.name and (other := first.setdefault(value.name, at)) != at:
            says = f"{brief(value.name)} is {other} already"
            yield Finding(f"{at}.name", says, "pass the value through an Identity, or drop one of the two")
