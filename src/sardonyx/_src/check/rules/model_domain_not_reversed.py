"""SX014 model-domain-not-reversed: the model's domain is no reverse domain name.

Clause: IR.md, "Models", domain
Catalogue: MOD-05
Why:    only names that begin with a domain of one's own are sure not to meet those of others.
Bad:    <domain: "my models"> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <domain: "com.example.models"> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import is_reverse_domain_name
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX014", "warning", visits=ModelProto, unless="SX002")
def model_domain_not_reversed(model: ModelProto, context: Context) -> Iterator[Finding]:
    if model.domain and not is_reverse_domain_name(model.domain):
        says = f"{brief(model.domain)} is no reverse domain name"
        yield Finding("domain", says, 'write it from general to special, as "com.example.models"')
