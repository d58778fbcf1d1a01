"""SX600 magic-wrong: an operator-set document does not begin with its magic word.

Clause: IR.md, "Operator Sets"; onnx-operators.proto, OperatorSetProto.magic
Catalogue: OPD-01
Why:    the word distinguishes such documents from models.
Bad:    operator-set {magic: "ONNX", ir_version: 10, domain: "com.example", opset_version: 1}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorSetProto
from sardonyx._src.proto.record import brief


@rule("SX600", visits=OperatorSetProto)
def check_magic_wrong(document: OperatorSetProto, context: RuleContext) -> Iterator[Finding]:
    if document.magic != "ONNXOPSET":
        yield Finding("magic", f"magic must be ONNXOPSET; got {brief(document.magic)}", "set it to ONNXOPSET")
