"""SX605 declaration-newer-than-set: an operator of an operator-set document is newer than the set.

Clause: onnx-operators.proto, OperatorProto.since_version, OperatorSetProto.opset_version
Catalogue: OPD-06
Why:    this version of the set cannot have it.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1, operator: [{op_type: "F", since_version: 2}]}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 2, operator: [{op_type: "F", since_version: 2}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorSetProto
from sardonyx._src.proto.record import brief


@rule("SX605", visits=OperatorSetProto, suppressed_by="SX608")
def check_declaration_newer_than_set(document: OperatorSetProto, context: RuleContext) -> Iterator[Finding]:
    for i, operator in enumerate(document.operator):
        if operator.since_version > document.opset_version:
            message = f"the since_version of {brief(operator.op_type)} must be at most {document.opset_version}; got {operator.since_version}"
            yield Finding(
                f"operator[{i}].since_version", message, "raise opset_version, or drop the operator"
            )
