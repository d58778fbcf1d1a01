"""SX703 input-type-not-allowed: an input has a type that the operator does not allow.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-10 FUN-22
Why:    the bound version of the operator is defined for the listed types only.
Bad:    g (string[2] x) => (string[2] y) { y = Abs (x) }
Good:   g (int8[2] x) => (int8[2] y) { y = Abs (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule
from sardonyx._src.check.type_rules.type_names import format_type, format_types


@type_rule("SX703", about=TypedNode)
def check_input_type_not_allowed(typed_node: TypedNode) -> Iterator[Finding]:
    for i, type_ in enumerate(typed_node.inference.inputs):
        formal = typed_node.schema.input(i)
        text = format_type(type_)
        if formal is None or text is None:
            continue
        allowed = typed_node.schema.allowed_types(formal)
        if text not in allowed:
            message = f"{formal.name} of {typed_node.name} is {text}; allowed: {format_types(allowed)}"
            yield Finding(
                f"input[{i}]", message, "convert the input, or import a version of the set that allows it"
            )
