"""SX400 function-twice: two functions of a model have the same identity.

Clause: onnx.proto, ModelProto.functions; IR.md, "Functions"
Catalogue: FUN-01
Why:    a call means a function by domain, name and, from IR version 10 on, overload; this one could mean either.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Neg(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
        <domain: "com.example", opset_import: ["": 21]> G (v) => (w) { w = Neg(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import key_of
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX400", visits=ModelProto, since=8, unless="SX057")
def function_twice(model: ModelProto, context: Context) -> Iterator[Finding]:
    first: dict[tuple[str, ...], int] = {}
    for i, function in enumerate(model.functions):
        identity = key_of(function)[: 3 if context.ir_version >= 10 else 2]
        if first.setdefault(identity, i) != i:
            says = f"functions[{first[identity]}] is {brief(function.name)} of {brief(function.domain)}, too"
            yield Finding(f"functions[{i}]", says, "rename one of the two, or drop it")
