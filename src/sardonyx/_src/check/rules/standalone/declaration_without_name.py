"""SX603 declaration-without-name: an operator of an operator-set document has no name.

Clause: onnx-operators.proto, OperatorProto.op_type
Catalogue: OPD-04
Why:    no node can use it.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1, operator: [{since_version: 1}]}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1, operator: [{op_type: "F", since_version: 1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorProto


@rule("SX603", visits=OperatorProto)
def check_declaration_without_name(operator: OperatorProto, context: RuleContext) -> Iterator[Finding]:
    if not operator.op_type:
        yield Finding("op_type", "the operator has no name", "set op_type")
