"""SX404 default-is-reference: the default of a function's attribute is a reference.

Clause: onnx.proto, FunctionProto.attribute_proto
Catalogue: FUN-05
Why:    a default must be a value; no function encloses this one.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = @b> (v) => (w) { w = Softmax <axis: int = @a> (v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 1> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto
from sardonyx._src.proto.record import brief


@rule("SX404", visits=FunctionProto, since=9)
def check_default_is_reference(function: FunctionProto, context: RuleContext) -> Iterator[Finding]:
    for i, attribute in enumerate(function.attribute_proto):
        if attribute.ref_attr_name:
            message = f"the default of {brief(attribute.name)} refers to {brief(attribute.ref_attr_name)}"
            yield Finding(
                f"attribute_proto[{i}]",
                message,
                "write the value itself, or declare the attribute without default",
            )
