"""SX713 call-refuses-inputs: a call passes values of other types than the function declares.

Clause: IR.md, "Functions"; onnx.proto, FunctionProto.value_info
Catalogue: FUN-22
Why:    value_info of a function applies to every call.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) <int64[2] v> { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) <float[2] v> { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.engine.location import printable
from sardonyx._src.check.type_rules.subjects import RefusedCall, type_rule


@type_rule("SX713", about=RefusedCall)
def check_call_refuses_inputs(refused_call: RefusedCall) -> Iterator[Finding]:
    message = f"{printable(refused_call.node.op_type)}: {refused_call.error.why}"
    yield Finding("", message, "correct the call, or the types that the function declares")
