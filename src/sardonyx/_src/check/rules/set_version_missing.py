"""SX608 set-version-missing: an operator-set document does not say which version of the set it describes.

Clause: onnx-operators.proto, OperatorSetProto.opset_version; IR.md, "Operator Sets"
Catalogue: OPD-06
Why:    models import a version of a set.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example"}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import OperatorSetProto


@rule("SX608", visits=OperatorSetProto)
def set_version_missing(document: OperatorSetProto, context: Context) -> Iterator[Finding]:
    if document.opset_version < 1:
        says = f"opset_version is {document.opset_version}"
        yield Finding("opset_version", says, "state the version of the set")
