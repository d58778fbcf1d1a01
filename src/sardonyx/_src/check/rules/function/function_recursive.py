"""SX407 function-recursive: a function calls itself, directly or through others.

Clause: onnx.proto, ModelProto.functions
Catalogue: FUN-12
Why:    a call is equivalent to the inlined body; this inlining never ends.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21, "com.example": 1]> F (v) => (w) { w = com.example.F(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import called_by, find_cycles
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX407", visits=ModelProto, since=8)
def check_function_recursive(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per group of functions that call each other."""
    index = {key_of(function): i for i, function in reversed(list(enumerate(model.functions)))}
    calls = [
        sorted({index[key] for key in called_by(function) if key in index}) for function in model.functions
    ]
    for group in find_cycles(calls):
        chain = " -> ".join(brief(model.functions[i].name) for i in group[:8]) + (
            " ..." if len(group) > 8 else ""
        )
        message = f"{chain} {'call each other' if len(group) > 1 else 'calls itself'}"
        yield Finding(f"functions[{group[0]}]", message, "use Loop or Scan for repetition")
