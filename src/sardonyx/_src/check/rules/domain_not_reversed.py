"""SX037 domain-not-reversed: the domain of an operator set is no reverse domain name.

Clause: IR.md, "Operator Sets"
Catalogue: OPS-08
Why:    only names that begin with a domain of one's own are sure not to meet those of others.
Bad:    <opset_import: ["": 21, "custom": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import is_reverse_domain_name
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical, domains


@rule("SX037", "warning", visits=ModelProto, unless="SX002")
def domain_not_reversed(model: ModelProto, context: Context) -> Iterator[Finding]:
    for i, one in enumerate(model.opset_import):
        if canonical(one.domain) not in domains() and not is_reverse_domain_name(one.domain):
            says = f"{brief(one.domain)} is no reverse domain name"
            yield Finding(f"opset_import[{i}].domain", says, 'name the set like "com.example.ops"')
