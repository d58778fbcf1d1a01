"""SX014 model-domain-not-reversed: the model's domain is not a reverse domain name.

Clause: IR.md, "Models", domain
Catalogue: MOD-05
Why:    only names that begin with a domain that one owns cannot collide with those of others.
Bad:    <domain: "my models"> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <domain: "com.example.models"> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import is_reverse_domain_name
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX014", "warning", visits=ModelProto, suppressed_by="SX002", group="style")
def check_model_domain_not_reversed(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    if model.domain and not is_reverse_domain_name(model.domain):
        message = f"{brief(model.domain)} is not a reverse domain name"
        yield Finding("domain", message, 'write it from general to special, such as "com.example.models"')
