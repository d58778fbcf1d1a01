"""SX234 attribute-without-value: an attribute of a tensor, graph or type has no value.

Clause: onnx.proto, AttributeProto
Catalogue: ATT-05
Why:    numbers and strings have a default, 0 or ""; a message has none.
Bad:    g () => (float[2] y) { y = Constant <{name: "value", type: TENSOR}> () }
Good:   g () => (float[2] y) { y = Constant <{name: "value", type: TENSOR, t: float[2] {1, 2}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import attribute_type
from sardonyx._src.check.value_fields import FIELDS, filled
from sardonyx._src.proto.messages import AttributeProto


@rule("SX234", visits=AttributeProto, by_form=True)
def attribute_without_value(one: AttributeProto, context: Context) -> Iterator[Finding]:
    wanted = FIELDS.get(one.type)
    if wanted in ("t", "g", "sparse_tensor", "tp") and not filled(one) and not one.ref_attr_name:
        yield Finding("", f"the type is {attribute_type(one.type)}, but {wanted} is not set", f"set {wanted}")
