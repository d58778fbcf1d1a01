"""SX601 document-ir-version-missing: an operator-set document does not state its IR version.

Clause: IR.md, "Operator Sets"; onnx-operators.proto, OperatorSetProto.ir_version
Catalogue: OPD-02
Why:    the version defines the meaning of the fields.
Bad:    operator-set {magic: "ONNXOPSET", domain: "com.example", opset_version: 1}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorSetProto


@rule("SX601", visits=OperatorSetProto)
def check_document_ir_version_missing(document: OperatorSetProto, context: RuleContext) -> Iterator[Finding]:
    if document.ir_version < 1:
        message = (
            f"ir_version is {document.ir_version}" if document.has("ir_version") else "ir_version is missing"
        )
        yield Finding("ir_version", message, "set ir_version")
