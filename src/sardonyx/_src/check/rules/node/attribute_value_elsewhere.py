"""SX232 attribute-value-elsewhere: an attribute holds its value in the field of another type.

Clause: onnx.proto, AttributeProto.type
Catalogue: ATT-03
Why:    readers use the field that the type selects, which is empty.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", f: 1.0, type: INT}> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.attribute_fields import VALUE_FIELDS, filled_fields
from sardonyx._src.check.records.names import attribute_type
from sardonyx._src.proto.messages import AttributeProto


@rule("SX232", visits=AttributeProto, since=2, suppressed_by="SX237", cached_by_fingerprint=True)
def check_attribute_value_elsewhere(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    fields = filled_fields(attribute)
    expected = VALUE_FIELDS.get(attribute.type)
    if expected is not None and len(fields) == 1 and expected not in fields:
        message = f"the type is {attribute_type(attribute.type)}, but the value is in {fields[0]}, not in {expected}"
        yield Finding(
            fields[0] if not attribute.BY_NAME[fields[0]].repeated else "",
            message,
            "correct the type or the value",
        )
