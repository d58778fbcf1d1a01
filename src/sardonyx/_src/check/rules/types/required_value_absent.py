"""SX715 required-value-absent: a call omits a parameter that the body of its function requires.

Clause: IR.md, "Optional Inputs and Outputs"; "Functions"
Catalogue: FUN-22 NOD-05
Why:    an operator has no value to compute with.  If only a branch or the body of a loop requires the parameter, which a run
        may not execute, this is an info.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v, u) => (w) { w = Add(v, u) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F (v, u) => (w) { w = Clip(v, u) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, Severity
from sardonyx._src.check.type_rules.subjects import TypedModel, type_rule
from sardonyx._src.infer.omissions import find_omissions


@type_rule("SX715", about=TypedModel)
def check_required_value_absent(typed_model: TypedModel) -> Iterator[Finding]:
    for omission in find_omissions(typed_model.model):
        if path := typed_model.path(omission.node):
            severity: Severity = "error" if omission.is_certain else "info"
            yield Finding(path, omission.why, "give the input, or let the function do without", severity)
