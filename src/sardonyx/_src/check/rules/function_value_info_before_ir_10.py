"""SX058 function-value-info-before-ir-10: a function of an early IR version states types of its values.

Clause: onnx.proto, Version, IR_VERSION_2024_3_25
Catalogue: VER-09
Why:    readers of that version ignore the field.
Bad:    <ir_version: 9, opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 18]> F (float[2] v) => (w) { w = Abs(v) }
Good:   <ir_version: 10, opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 18]> F (float[2] v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import FunctionProto


@rule("SX058", "warning", visits=FunctionProto, until=9)
def function_value_info_before_ir_10(function: FunctionProto, context: Context) -> Iterator[Finding]:
    if function.value_info:
        says = f"value_info of functions came with IR version 10; the model says {context.ir_version}"
        yield Finding("value_info", says, "raise ir_version to 10")
