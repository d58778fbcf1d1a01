"""SX401 function-without-name: a function has no name.

Clause: onnx.proto, FunctionProto.name
Catalogue: FUN-02
Why:    nothing can call it.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
        <domain: "com.example", opset_import: ["": 21]> "" (v) => (w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto


@rule("SX401", visits=FunctionProto, since=8)
def check_function_without_name(function: FunctionProto, context: RuleContext) -> Iterator[Finding]:
    if not function.name:
        yield Finding("name", "the function has no name", "name it, or drop it")
