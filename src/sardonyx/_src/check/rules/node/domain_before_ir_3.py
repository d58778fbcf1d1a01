"""SX216 domain-before-ir-3: a node of a model of IR version 1 or 2 has a domain.

Clause: onnx.proto, Version, IR_VERSION_2017_11_3
Catalogue: NOD-18
Why:    operator domains require IR version 3.
Bad:    {ir_version: 2, domain: "com.example", producer_name: "p", producer_version: "1",
         graph: g (float[2] x) => (float[2] y) { y = com.example.Identity(x) }}
Good:   {ir_version: 2, domain: "com.example", producer_name: "p", producer_version: "1",
         graph: g (float[2] x) => (float[2] y) { y = Identity(x) }}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX216", visits=NodeProto, until=2, suppresses=True, needs="domain", cached_by_fingerprint=True)
def check_domain_before_ir_3(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if node.domain:
        message = f"IR version {context.ir_version} has no operator domains; got {brief(node.domain)}"
        yield Finding("", message, "leave the domain out, or raise ir_version to 3")
