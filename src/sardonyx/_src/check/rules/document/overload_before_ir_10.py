"""SX057 overload-before-ir-10: a node or function of an early IR version has an overload.

Clause: onnx.proto, Version, IR_VERSION_2024_3_25
Catalogue: VER-08
Why:    readers of that version do not know the field, and call another function.
Bad:    <ir_version: 9, opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 18]> F (v) => (w) { w = Abs(v) }
        <domain: "com.example", overload: "two", opset_import: ["": 18]> G (v) => (w) { w = Neg(v) }
Good:   <ir_version: 10, opset_import: ["": 18, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 18]> F (v) => (w) { w = Abs(v) }
        <domain: "com.example", overload: "two", opset_import: ["": 18]> G (v) => (w) { w = Neg(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, NodeProto


@rule("SX057", visits=(NodeProto, FunctionProto), until=9, needs="overload", cached_by_fingerprint=True)
def check_overload_before_ir_10(holder: NodeProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per model."""
    if holder.overload:
        message = f"overloads require IR version 10; the model has version {context.ir_version}"
        yield Finding("overload", message, "raise ir_version to 10", dedup_key="overload")
