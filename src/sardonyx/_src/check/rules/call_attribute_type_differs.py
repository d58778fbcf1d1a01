"""SX411 call-attribute-type-differs: a call passes an attribute of another type than the function's default.

Clause: IR.md, "Nodes"; "Functions"
Catalogue: FUN-17
Why:    the operators of the body want the type of the default.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0.5> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import key_of
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import attribute_type
from sardonyx._src.check.value_fields import kind_of
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX411", visits=NodeProto, since=9, unless="SX231 SX232", needs="attribute", by_form=True)
def call_attribute_type_differs(node: NodeProto, context: Context) -> Iterator[Finding]:
    callee = context.callee
    if callee is None:
        return
    defaults = context.document.formals[key_of(callee)].defaults
    for i, one in enumerate(node.attribute):
        wanted = defaults.get(one.name, 0)
        if wanted and kind_of(one) not in (0, wanted):
            says = (
                f"{brief(one.name)} is {attribute_type(kind_of(one))}, its default {attribute_type(wanted)}"
            )
            yield Finding(f"attribute[{i}]", says, f"write the value as {attribute_type(wanted)}")
