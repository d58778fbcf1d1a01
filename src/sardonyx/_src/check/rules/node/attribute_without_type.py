"""SX231 attribute-without-type: an attribute has no type, or one that does not exist.

Clause: IR.md, "Attributes", type; onnx.proto, AttributeProto.type
Catalogue: ATT-02
Why:    from IR version 2 on, the type selects the field that holds the value.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0}> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.attribute_fields import TYPES_BY_VALUE_FIELD, VALUE_FIELDS, filled_fields
from sardonyx._src.check.records.names import attribute_type
from sardonyx._src.proto.messages import AttributeProto


@rule("SX231", visits=AttributeProto, since=2, cached_by_fingerprint=True, suppressed_by="SX003")
def check_attribute_without_type(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    if attribute.type not in VALUE_FIELDS:
        message = (
            f"the type is {attribute.type}, which does not exist"
            if attribute.type
            else "the attribute has no type"
        )
        fields = filled_fields(attribute)
        expected = attribute_type(TYPES_BY_VALUE_FIELD[fields[0]]) if fields else "that of the value"
        yield Finding("type", message, f"set type to {expected}")
