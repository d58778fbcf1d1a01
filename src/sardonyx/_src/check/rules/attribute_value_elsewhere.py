"""SX232 attribute-value-elsewhere: an attribute holds its value in the field of another type.

Clause: onnx.proto, AttributeProto.type
Catalogue: ATT-03
Why:    readers look into the field that the type names, and find nothing.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", f: 1.0, type: INT}> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import attribute_type
from sardonyx._src.check.value_fields import FIELDS, filled
from sardonyx._src.proto.messages import AttributeProto


@rule("SX232", visits=AttributeProto, since=2, unless="SX237", by_form=True)
def attribute_value_elsewhere(one: AttributeProto, context: Context) -> Iterator[Finding]:
    found = filled(one)
    wanted = FIELDS.get(one.type)
    if wanted is not None and len(found) == 1 and wanted not in found:
        says = f"the type is {attribute_type(one.type)}, but the value stands in {found[0]}, not in {wanted}"
        yield Finding(
            found[0] if not one.BY_NAME[found[0]].repeated else "", says, "correct the type or the value"
        )
