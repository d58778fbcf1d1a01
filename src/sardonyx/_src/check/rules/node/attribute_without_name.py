"""SX230 attribute-without-name: an attribute has no name.

Clause: IR.md, "Attributes", name
Catalogue: ATT-01
Why:    an attribute is identified by its name.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <"" = 0> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import AttributeProto


@rule("SX230", visits=AttributeProto, cached_by_fingerprint=True, suppressed_by="SX003")
def check_attribute_without_name(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    if not attribute.name:
        yield Finding("", "the attribute has no name", "name it, or drop it")
