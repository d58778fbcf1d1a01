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

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.check.reading import bodies_of
from sardonyx.proto.messages import ModelProto
from sardonyx.proto.record import brief
from sardonyx.schema import canonical, domains


@rule("SX202", "warning", visits=ModelProto)
def operator_undeclared(model: ModelProto, context: Context) -> Iterator[Finding]:
    """Once for each domain."""
    document = context.document
    first: dict[str, str] = {}
    unknown: dict[str, set[str]] = {}
    for path, body in bodies_of(model):
        for i, node in enumerate(body.node):
            domain = canonical(node.domain)
            if domain not in domains() and node.op_type and not document.declares(domain, node.op_type):
                first.setdefault(domain, f"{path}.node[{i}]")
                unknown.setdefault(domain, set()).add(node.op_type)
    for domain, names in unknown.items():
        says = (
            f"nothing declares {', '.join(sorted(names)[:8])}{' ...' * (len(names) > 8)} of {brief(domain)}"
        )
        yield Finding(
            first[domain], says, "add functions for them, or check with --operator-set and their document"
        )
