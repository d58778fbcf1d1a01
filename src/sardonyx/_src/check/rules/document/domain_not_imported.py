"""SX032 domain-not-imported: a node uses an operator of a domain that is not imported.

Clause: IR.md, "Operator Sets"; onnx.proto, FunctionProto.opset_import
Catalogue: OPS-03 SUB-14 FUN-13 TRN-06
Why:    without a version the definition of the operator is ambiguous.  Nodes of a function use the imports of that
        function.
Bad:    g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }
Good:   <opset_import: ["": 15, "ai.onnx.ml": 3]> g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical


@rule("SX032", visits=(GraphProto, FunctionProto), suppressed_by="SX030")
def check_domain_not_imported(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per domain and body."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    if not body.imports and isinstance(graph, GraphProto):
        return  # reported by SX030
    seen = set(body.imports)
    for (domain, op_type), i in body.operators.items():
        domain = canonical(domain)
        if domain in seen or not op_type:
            continue
        seen.add(domain)
        whose = "the function" if body.function is not None else "the model"
        message = f"{whose} does not import {brief(domain or 'ai.onnx')}, the domain of {brief(op_type)}"
        yield Finding(
            f"node[{i}]", message, f"add {brief(domain or 'ai.onnx')} with its version to opset_import"
        )
