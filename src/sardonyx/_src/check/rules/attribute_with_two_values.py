"""SX233 attribute-with-two-values: more than one field of an attribute holds a value.

Clause: IR.md, "Attributes"; onnx.proto, AttributeProto
Catalogue: ATT-04
Why:    an attribute has one value; readers may take either.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, f: 1.0, type: INT}> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.value_fields import filled
from sardonyx._src.proto.messages import AttributeProto


@rule("SX233", visits=AttributeProto, unless="SX237", by_form=True)
def attribute_with_two_values(one: AttributeProto, context: Context) -> Iterator[Finding]:
    found = filled(one)
    if len(found) > 1:
        yield Finding("", f"{', '.join(found)} are set", "keep the field that the type names")
