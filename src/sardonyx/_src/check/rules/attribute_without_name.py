"""SX230 attribute-without-name: an attribute has no name.

Clause: IR.md, "Attributes", name
Catalogue: ATT-01
Why:    nobody knows what the value is for.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <"" = 0> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import AttributeProto


@rule("SX230", visits=AttributeProto, by_form=True, unless="SX003")
def attribute_without_name(one: AttributeProto, context: Context) -> Iterator[Finding]:
    if not one.name:
        yield Finding("", "the attribute has no name", "name it, or drop it")
