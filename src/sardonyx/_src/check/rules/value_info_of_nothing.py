"""SX109 value-info-of-nothing: a value_info entry names no value of its graph.

Clause: IR.md, "Graphs", value_info
Catalogue: GRA-16 FUN-20
Why:    the entry says nothing, or its name is misspelt and the value meant goes without.  In a function it is an
        error, as onnx.proto speaks of the function's own values.
Bad:    g (float[2] x) => (float[2] y) <float[2] b> { a = Abs(x) y = Neg(a) }
Good:   g (float[2] x) => (float[2] y) <float[2] a> { a = Abs(x) y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, Severity, rule
from sardonyx._src.check.bodies import output_names
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX109", "warning", visits=(GraphProto, FunctionProto), needs="value_info")
def value_info_of_nothing(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    severity: Severity = "error" if isinstance(graph, FunctionProto) else "warning"
    told = {*output_names(graph), *(n for i, _, n in body.unseen if not body.sees(n, i))}  # by SX113, SX114
    for i, value in enumerate(graph.value_info):
        if body.own(value.name) is None and value.name not in told:
            says = f"nothing here makes a value {brief(value.name)}{context.near(value.name, body.writers)}"
            yield Finding(f"value_info[{i}]", says, "correct the name, or drop the entry", severity)
