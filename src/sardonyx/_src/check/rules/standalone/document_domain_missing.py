"""SX602 document-domain-missing: an operator-set document has no domain.

Clause: IR.md, "Operator Sets"; onnx-operators.proto, OperatorSetProto.domain
Catalogue: OPD-03
Why:    only the ONNX set itself has none; models import all others by domain.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, opset_version: 1}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorSetProto


@rule("SX602", "warning", visits=OperatorSetProto, group="style")
def check_document_domain_missing(document: OperatorSetProto, context: RuleContext) -> Iterator[Finding]:
    if not document.domain:
        yield Finding("domain", "the document has no domain", 'set a domain such as "com.example.ops"')
