"""SX056 attribute-default-before-ir-9: a function of an early IR version gives an attribute a default.

Clause: onnx.proto, Version, IR_VERSION_2023_5_5
Catalogue: VER-07
Why:    readers of that version do not know the field.
Bad:    <ir_version: 8, opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 18]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
Good:   <ir_version: 9, opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 18]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto


@rule("SX056", visits=FunctionProto, until=8)
def check_attribute_default_before_ir_9(function: FunctionProto, context: RuleContext) -> Iterator[Finding]:
    if function.attribute_proto:
        message = f"defaults of attributes require IR version 9; the model has version {context.ir_version}"
        yield Finding("attribute_proto", message, "raise ir_version to 9")
