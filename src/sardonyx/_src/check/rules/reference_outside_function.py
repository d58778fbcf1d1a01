"""SX236 reference-outside-function: an attribute refers to a function's attribute, but stands in no function.

Clause: IR.md, "Attributes", ref_attr_name
Catalogue: ATT-07
Why:    there is no call that could give the value.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <axis: int = @a> (x) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule("SX236", visits=AttributeProto, needs="ref_attr_name", by_form=True)
def reference_outside_function(one: AttributeProto, context: Context) -> Iterator[Finding]:
    if one.ref_attr_name and context.body is not None and context.body.function is None:
        says = f"it refers to {brief(one.ref_attr_name)}, but no function is around it"
        yield Finding("ref_attr_name", says, "write the value itself")
