"""SX608 set-version-missing: an operator-set document does not state the version of the set.

Clause: onnx-operators.proto, OperatorSetProto.opset_version; IR.md, "Operator Sets"
Catalogue: OPD-06
Why:    models import a version of a set.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example"}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorSetProto


@rule("SX608", visits=OperatorSetProto)
def check_set_version_missing(document: OperatorSetProto, context: RuleContext) -> Iterator[Finding]:
    if document.opset_version < 1:
        message = f"opset_version must be at least 1; got {document.opset_version}"
        yield Finding("opset_version", message, "state the version of the set")
