"""SX407 function-recursive: a function calls itself, directly or through others.

Clause: onnx.proto, ModelProto.functions
Catalogue: FUN-12
Why:    functions stand for their bodies; this one has no end.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21, "com.example": 1]> F (v) => (w) { w = com.example.F(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import key_of
from sardonyx._src.check.context import Context
from sardonyx._src.check.reading import called_by, circles_of
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX407", visits=ModelProto, since=8)
def function_recursive(model: ModelProto, context: Context) -> Iterator[Finding]:
    """Once for each group of functions that call each other."""
    index = {key_of(function): i for i, function in reversed(list(enumerate(model.functions)))}
    calls = [
        sorted({index[key] for key in called_by(function) if key in index}) for function in model.functions
    ]
    for group in circles_of(calls):
        chain = " -> ".join(brief(model.functions[i].name) for i in group[:8]) + (
            " ..." if len(group) > 8 else ""
        )
        says = f"{chain} {'call each other' if len(group) > 1 else 'calls itself'}"
        yield Finding(f"functions[{group[0]}]", says, "use Loop or Scan to repeat something")
