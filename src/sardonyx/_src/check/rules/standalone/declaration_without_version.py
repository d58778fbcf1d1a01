"""SX604 declaration-without-version: an operator of an operator-set document does not state the version that introduced it.

Clause: onnx-operators.proto, OperatorProto.since_version; IR.md, "Operators"
Catalogue: OPD-05
Why:    name and version identify an operator.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1, operator: [{op_type: "F"}]}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1, operator: [{op_type: "F", since_version: 1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorProto


@rule("SX604", visits=OperatorProto)
def check_declaration_without_version(operator: OperatorProto, context: RuleContext) -> Iterator[Finding]:
    if operator.since_version < 1:
        message = (
            f"since_version is {operator.since_version}"
            if operator.has("since_version")
            else "since_version is missing"
        )
        yield Finding("since_version", message, "state the version of the set that introduced it")
