"""SX705 variadic-types-differ: operands of a variadic parameter have different types.

Clause: IR.md, "Variadic Inputs and Outputs"; Operators.md
Catalogue: NOD-09
Why:    the operator requires the same type for all of them.
Bad:    g (float[2] x, double[2] z) => (float[4] y) { y = Concat <axis = 0> (x, z) }
Good:   g (float[2] x, double[2] z) => (float[4] y) { f = Cast <to = 1> (z) y = Concat <axis = 0> (x, f) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule
from sardonyx._src.check.type_rules.type_names import format_type


@type_rule("SX705", about=TypedNode, suppressed_by="SX703")
def check_variadic_types_differ(typed_node: TypedNode) -> Iterator[Finding]:
    formals = typed_node.schema.inputs
    if not formals or formals[-1].option != "variadic" or not formals[-1].homogeneous:
        return
    expected = None
    for i, type_ in enumerate(typed_node.inference.inputs[len(formals) - 1 :], len(formals) - 1):
        text = format_type(type_)
        expected = expected or text
        if text is not None and text != expected:
            message = f"{formals[-1].name} of {typed_node.name} is {text} here, but {expected} before"
            yield Finding(f"input[{i}]", message, "convert the operands to one type")
