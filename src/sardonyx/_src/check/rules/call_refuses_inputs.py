"""SX713 call-refuses-inputs: a call gives a function values of other types than the function declares.

Clause: IR.md, "Functions"; onnx.proto, FunctionProto.value_info
Catalogue: FUN-22
Why:    value_info of a function holds in every call.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) <int64[2] v> { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) <float[2] v> { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.location import printable
from sardonyx._src.check.uses import RefusedCall, typed


@typed("SX713", about=RefusedCall)
def call_refuses_inputs(call: RefusedCall) -> Iterator[Finding]:
    says = f"{printable(call.node.op_type)}: {call.fault.why}"
    yield Finding("", says, "correct the call, or the types that the function declares")
