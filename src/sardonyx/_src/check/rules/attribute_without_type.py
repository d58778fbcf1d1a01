"""SX231 attribute-without-type: an attribute has no type, or one that does not exist.

Clause: IR.md, "Attributes", type; onnx.proto, AttributeProto.type
Catalogue: ATT-02
Why:    from IR version 2 on the type tells which field holds the value.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0}> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", i: 0, type: INT}> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import attribute_type
from sardonyx._src.check.value_fields import FIELDS, TYPES, filled
from sardonyx._src.proto.messages import AttributeProto


@rule("SX231", visits=AttributeProto, since=2, by_form=True, unless="SX003")
def attribute_without_type(one: AttributeProto, context: Context) -> Iterator[Finding]:
    if one.type not in FIELDS:
        says = f"the type is {one.type}, which does not exist" if one.type else "the attribute has no type"
        found = filled(one)
        wanted = attribute_type(TYPES[found[0]]) if found else "that of the value"
        yield Finding("type", says, f"set type to {wanted}")
