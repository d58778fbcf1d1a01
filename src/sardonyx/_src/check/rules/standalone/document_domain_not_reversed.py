"""SX607 document-domain-not-reversed: the domain of an operator-set document is not a reverse domain name.

Clause: IR.md, "Operator Sets"
Catalogue: OPD-08
Why:    only names that begin with a domain that one owns cannot collide with those of others.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "custom", opset_version: 1}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import is_reverse_domain_name
from sardonyx._src.proto.messages import OperatorSetProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical, domains


@rule("SX607", "warning", visits=OperatorSetProto, group="style")
def check_document_domain_not_reversed(document: OperatorSetProto, context: RuleContext) -> Iterator[Finding]:
    if (
        document.domain
        and canonical(document.domain) not in domains()
        and not is_reverse_domain_name(document.domain)
    ):
        message = f"{brief(document.domain)} is not a reverse domain name"
        yield Finding("domain", message, 'name the set like "com.example.ops"')
