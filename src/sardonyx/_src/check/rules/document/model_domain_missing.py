"""SX013 model-domain-missing: the model has no domain.

Clause: IR.md, "Models", domain
Catalogue: MOD-04
Why:    the domain distinguishes models with the same name.
Bad:    <domain: ""> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <domain: "com.example"> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto


@rule("SX013", "warning", visits=ModelProto, suppressed_by="SX003", group="style")
def check_model_domain_missing(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    if not model.domain:
        yield Finding(
            "domain", "the model has no domain", 'set domain to a reverse domain name such as "com.example"'
        )
