"""SX400 function-twice: two functions of a model have the same identity.

Clause: onnx.proto, ModelProto.functions; IR.md, "Functions"
Catalogue: FUN-01
Why:    a call refers to a function by domain, name and, from IR version 10 on, overload, so it could mean either.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Neg(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
        <domain: "com.example", opset_import: ["": 21]> G (v) => (w) { w = Neg(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX400", visits=ModelProto, since=8, suppressed_by="SX057")
def check_function_twice(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[tuple[str, ...], int] = {}
    for i, function in enumerate(model.functions):
        identity = key_of(function)[: 3 if context.ir_version >= 10 else 2]
        if first.setdefault(identity, i) != i:
            message = (
                f"functions[{first[identity]}] is also {brief(function.name)} of {brief(function.domain)}"
            )
            yield Finding(f"functions[{i}]", message, "rename one of the two, or drop it")
