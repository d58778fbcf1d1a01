"""SX600 magic-wrong: an operator-set document does not begin with its magic word.

Clause: IR.md, "Operator Sets"; onnx-operators.proto, OperatorSetProto.magic
Catalogue: OPD-01
Why:    the word tells such documents from models.
Bad:    operator-set {magic: "ONNX", ir_version: 10, domain: "com.example", opset_version: 1}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import OperatorSetProto
from sardonyx._src.proto.record import brief


@rule("SX600", visits=OperatorSetProto)
def magic_wrong(document: OperatorSetProto, context: Context) -> Iterator[Finding]:
    if document.magic != "ONNXOPSET":
        yield Finding("magic", f"the magic is {brief(document.magic)}", "set it to ONNXOPSET")
