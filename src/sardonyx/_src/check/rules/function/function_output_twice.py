"""SX406 function-output-twice: two outputs of one function have the same name.

Clause: IR.md, "Functions"
Catalogue: FUN-09
Why:    the outputs of a function must be distinct; readers refuse duplicates.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y, z = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w, w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y, z = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w, u) { w = Abs(v) u = Neg(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto
from sardonyx._src.proto.record import brief


@rule("SX406", visits=FunctionProto, since=8, suppressed_by="SX105")
def check_function_output_twice(function: FunctionProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, name in enumerate(function.output):
        if first.setdefault(name, i) != i:
            yield Finding(
                f"output[{i}]", f"{brief(name)} is also output[{first[name]}]", "pass it through an Identity"
            )
