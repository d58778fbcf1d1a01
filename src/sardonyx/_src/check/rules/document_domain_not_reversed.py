"""SX607 document-domain-not-reversed: the domain of an operator-set document is no reverse domain name.

Clause: IR.md, "Operator Sets"
Catalogue: OPD-08
Why:    only names that begin with a domain of one's own are sure not to meet those of others.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "custom", opset_version: 1}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import is_reverse_domain_name
from sardonyx._src.proto.messages import OperatorSetProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical, domains


@rule("SX607", "warning", visits=OperatorSetProto)
def document_domain_not_reversed(document: OperatorSetProto, context: Context) -> Iterator[Finding]:
    if (
        document.domain
        and canonical(document.domain) not in domains()
        and not is_reverse_domain_name(document.domain)
    ):
        says = f"{brief(document.domain)} is no reverse domain name"
        yield Finding("domain", says, 'name the set like "com.example.ops"')
