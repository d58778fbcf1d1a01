"""SX202 operator-undeclared: nothing declares an operator of a domain that ONNX does not define.

Clause: IR.md, "Operators"; "Operator Sets"
Catalogue: NOD-03
Why:    the node can be neither checked nor run without the tool that knows the operator.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.Twice(x) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.Twice(x) }
        <domain: "com.example", opset_import: ["": 21]> Twice (v) => (w) { w = Add(v, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical, domains


@rule("SX202", "warning", visits=(GraphProto, FunctionProto), suppressed_by="SX032 SX002")
def check_operator_undeclared(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per domain of a model."""
    body, document = context.body, context.document
    assert body is not None, "a graph or function has a body"
    if document.model is None:
        return
    first: dict[str, int] = {}
    unknown: dict[str, set[str]] = {}
    for (name, op_type), i in body.operators.items():
        domain = canonical(name)
        if domain not in domains() and op_type and not document.declares(domain, op_type):
            first.setdefault(domain, i)
            unknown.setdefault(domain, set()).add(op_type)
    for domain, names in unknown.items():
        message = (
            f"nothing declares {', '.join(sorted(names)[:8])}{' ...' * (len(names) > 8)} of {brief(domain)}"
        )
        help_ = "add functions for them, or pass their operator-set document to --operator-set or --operator-set-path"
        yield Finding(f"node[{first[domain]}]", message, help_, dedup_key=domain)
