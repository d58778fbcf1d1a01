"""SX404 default-is-reference: the default of a function's attribute is a reference.

Clause: onnx.proto, FunctionProto.attribute_proto
Catalogue: FUN-05
Why:    a default is a value; there is nothing around the function to refer to.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = @b> (v) => (w) { w = Softmax <axis: int = @a> (v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 1> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import FunctionProto
from sardonyx._src.proto.record import brief


@rule("SX404", visits=FunctionProto, since=9)
def default_is_reference(function: FunctionProto, context: Context) -> Iterator[Finding]:
    for i, one in enumerate(function.attribute_proto):
        if one.ref_attr_name:
            says = f"the default of {brief(one.name)} refers to {brief(one.ref_attr_name)}"
            yield Finding(
                f"attribute_proto[{i}]", says, "write the value itself, or declare it without default"
            )
