"""SX234 attribute-without-value: an attribute of a tensor, graph or type has no value.

Clause: onnx.proto, AttributeProto
Catalogue: ATT-05
Why:    numbers and strings have a default, 0 or ""; a message has none.
Bad:    g () => (float[2] y) { y = Constant <{name: "value", type: TENSOR}> () }
Good:   g () => (float[2] y) { y = Constant <{name: "value", type: TENSOR, t: float[2] {1, 2}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.attribute_fields import VALUE_FIELDS, filled_fields
from sardonyx._src.check.records.names import attribute_type
from sardonyx._src.proto.messages import AttributeProto


@rule("SX234", visits=AttributeProto, cached_by_fingerprint=True)
def check_attribute_without_value(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    field = VALUE_FIELDS.get(attribute.type)
    if (
        field in ("t", "g", "sparse_tensor", "tp")
        and not filled_fields(attribute)
        and not attribute.ref_attr_name
    ):
        yield Finding(
            "", f"the type is {attribute_type(attribute.type)}, but {field} is not set", f"set {field}"
        )
