"""SX055 function-before-ir-8: a model of an early IR version has functions.

Clause: onnx.proto, Version, IR_VERSION_2021_7_30
Catalogue: VER-06
Why:    readers of that version do not know the field.
Bad:    <ir_version: 7, opset_import: ["": 15, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 15]> F (v) => (w) { w = Abs(v) }
Good:   <ir_version: 8, opset_import: ["": 15, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 15]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto


@rule("SX055", visits=FunctionProto, until=7, suppresses=True)
def check_function_before_ir_8(function: FunctionProto, context: RuleContext) -> Iterator[Finding]:
    message = f"functions require IR version 8; the model has version {context.ir_version}"
    yield Finding("", message, "raise ir_version to 8")
