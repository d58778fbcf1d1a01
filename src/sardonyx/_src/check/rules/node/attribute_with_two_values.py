"""SX233 attribute-with-two-values: more than one field of an attribute holds a value.

Clause: IR.md, "Attributes"; onnx.proto, AttributeProto
Catalogue: ATT-04
Why:    an attribute has one value; readers may use either.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, f: 1.0, type: INT}> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.attribute_fields import filled_fields
from sardonyx._src.proto.messages import AttributeProto


@rule("SX233", visits=AttributeProto, suppressed_by="SX237", cached_by_fingerprint=True)
def check_attribute_with_two_values(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    fields = filled_fields(attribute)
    if len(fields) > 1:
        yield Finding("", f"{', '.join(fields)} are set", "keep the field that the type selects")
