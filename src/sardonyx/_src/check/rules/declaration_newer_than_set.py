"""SX605 declaration-newer-than-set: an operator of an operator-set document is newer than the set.

Clause: onnx-operators.proto, OperatorProto.since_version, OperatorSetProto.opset_version
Catalogue: OPD-06
Why:    this version of the set cannot have it yet.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1, operator: [{op_type: "F", since_version: 2}]}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 2, operator: [{op_type: "F", since_version: 2}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import OperatorSetProto
from sardonyx._src.proto.record import brief


@rule("SX605", visits=OperatorSetProto, unless="SX608")
def declaration_newer_than_set(document: OperatorSetProto, context: Context) -> Iterator[Finding]:
    for i, one in enumerate(document.operator):
        if one.since_version > document.opset_version:
            says = f"{brief(one.op_type)} came with version {one.since_version}; this is {document.opset_version}"
            yield Finding(f"operator[{i}].since_version", says, "raise opset_version, or drop the operator")
