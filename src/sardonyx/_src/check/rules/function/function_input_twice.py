"""SX405 function-input-twice: two inputs of one function have the same name.

Clause: IR.md, "Functions"; "Names Within a Graph"
Catalogue: FUN-08
Why:    a reference to the name is ambiguous.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x, x) }
        <domain: "com.example", opset_import: ["": 21]> F (v, v) => (w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x, x) }
        <domain: "com.example", opset_import: ["": 21]> F (v, u) => (w) { w = Add(v, u) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto
from sardonyx._src.proto.record import brief


@rule("SX405", visits=FunctionProto, since=8, suppressed_by="SX105")
def check_function_input_twice(function: FunctionProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, name in enumerate(function.input):
        if first.setdefault(name, i) != i:
            yield Finding(
                f"input[{i}]", f"{brief(name)} is also input[{first[name]}]", "rename one of the two"
            )
