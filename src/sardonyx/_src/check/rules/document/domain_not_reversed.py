"""SX037 domain-not-reversed: the domain of an operator set is not a reverse domain name.

Clause: IR.md, "Operator Sets"
Catalogue: OPS-08
Why:    only names that begin with a domain that one owns cannot collide with those of others.
Bad:    <opset_import: ["": 21, "custom": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import is_reverse_domain_name
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical, domains


@rule("SX037", "warning", visits=ModelProto, suppressed_by="SX002", group="style")
def check_domain_not_reversed(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    for i, opset in enumerate(model.opset_import):
        if canonical(opset.domain) not in domains() and not is_reverse_domain_name(opset.domain):
            message = f"{brief(opset.domain)} is not a reverse domain name"
            yield Finding(f"opset_import[{i}].domain", message, 'name the set like "com.example.ops"')
