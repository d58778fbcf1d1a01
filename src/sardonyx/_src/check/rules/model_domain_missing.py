"""SX013 model-domain-missing: the model does not name the domain that it belongs to.

Clause: IR.md, "Models", domain
Catalogue: MOD-04
Why:    the domain tells models of one name apart.
Bad:    <domain: ""> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <domain: "com.example"> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import ModelProto


@rule("SX013", "warning", visits=ModelProto, unless="SX003")
def model_domain_missing(model: ModelProto, context: Context) -> Iterator[Finding]:
    if not model.domain:
        yield Finding(
            "domain", "the model has no domain", 'set domain to a reverse domain name, as "com.example"'
        )
