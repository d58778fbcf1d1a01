"""SX109 value-info-of-nothing: a value_info entry names no value of its graph.

Clause: IR.md, "Graphs", value_info
Catalogue: GRA-16 FUN-20
Why:    the entry is useless, or its name is misspelled and the intended value has no type.  In a function it is an
        error, since onnx.proto restricts the entries to the function's own values; in a graph, it is reported on request.
Bad:    <ir_version: 10, opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) <float[2] b> { a = Abs(v) w = Neg(a) }
Good:   <ir_version: 10, opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) <float[2] a> { a = Abs(v) w = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.check.engine.api import RuleGroup
from sardonyx._src.check.engine.body import output_names
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX109", "error", visits=(GraphProto, FunctionProto), needs="value_info")
def check_value_info_of_nothing(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    severity: Severity = "error" if isinstance(graph, FunctionProto) else "warning"
    group: RuleGroup | None = None if severity == "error" else "strict"
    reported = {
        *output_names(graph),
        *(n for i, _, n in body.unresolved_reads if not body.is_visible(n, i)),
    }  # by SX113 and SX114
    for i, value in enumerate(graph.value_info):
        if body.definition(value.name) is None and value.name not in reported:
            message = f"nothing here defines {brief(value.name)}{context.near(value.name, body.producers)}"
            yield Finding(
                f"value_info[{i}]", message, "correct the name, or drop the entry", severity, group=group
            )
