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

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto


@rule("SX058", "warning", visits=FunctionProto, until=9)
def check_function_value_info_before_ir_10(
    function: FunctionProto, context: RuleContext
) -> Iterator[Finding]:
    if function.value_info:
        message = (
            f"value_info of functions requires IR version 10; the model has version {context.ir_version}"
        )
        yield Finding("value_info", message, "raise ir_version to 10")
