"""SX241 attribute-typed-before-ir-2: an attribute of a model of IR version 1 states its type.

Clause: onnx.proto, AttributeProto.type; Version, IR_VERSION_2017_10_30
Catalogue: ATT-13
Why:    attribute types require IR version 2; readers of version 1 use whichever field is set.
Bad:    {ir_version: 1, domain: "com.example", producer_name: "p", producer_version: "1",
         graph: g (float[2, 2] x) => (float[2, 2] y) { y = Softmax <{name: "axis", i: 1, type: INT}> (x) }}
Good:   {ir_version: 1, domain: "com.example", producer_name: "p", producer_version: "1",
         graph: g (float[2, 2] x) => (float[2, 2] y) { y = Softmax <{name: "axis", i: 1}> (x) }}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import AttributeProto


@rule("SX241", "warning", visits=AttributeProto, until=1, cached_by_fingerprint=True)
def check_attribute_typed_before_ir_2(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per model."""
    if attribute.type:
        yield Finding(
            "type", "IR version 1 has no attribute types", "raise ir_version to 2", dedup_key="type"
        )
