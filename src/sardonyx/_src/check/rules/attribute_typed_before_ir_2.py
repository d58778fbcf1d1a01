"""SX241 attribute-typed-before-ir-2: an attribute of a model of IR version 1 states its type.

Clause: onnx.proto, AttributeProto.type; Version, IR_VERSION_2017_10_30
Catalogue: ATT-13
Why:    types of attributes came with IR version 2; readers of version 1 look at which field is filled.
Bad:    {ir_version: 1, domain: "com.example", producer_name: "p", producer_version: "1",
         graph: g (float[2, 2] x) => (float[2, 2] y) { y = Softmax <{name: "axis", i: 1, type: INT}> (x) }}
Good:   {ir_version: 1, domain: "com.example", producer_name: "p", producer_version: "1",
         graph: g (float[2, 2] x) => (float[2, 2] y) { y = Softmax <{name: "axis", i: 1}> (x) }}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import AttributeProto


@rule("SX241", "warning", visits=AttributeProto, until=1, by_form=True)
def attribute_typed_before_ir_2(one: AttributeProto, context: Context) -> Iterator[Finding]:
    """Once for each model."""
    if one.type:
        yield Finding("type", "IR version 1 has no types of attributes", "raise ir_version to 2", once="type")
