"""SX704 input-types-differ: inputs that must have the same type have different types.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-11
Why:    a type variable of the schema is bound to one type; there are no implicit conversions.
Bad:    g (float[2] x, int64[2] z) => (float[2] y) { y = Add (x, z) }
Good:   g (float[2] x, int64[2] z) => (float[2] y) { f = Cast <to = 1> (z) y = Add (x, f) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule
from sardonyx._src.check.type_rules.type_names import format_type


@type_rule("SX704", about=TypedNode, suppressed_by="SX703")
def check_input_types_differ(typed_node: TypedNode) -> Iterator[Finding]:
    """Of a variadic parameter, only the first operand is compared."""
    bound: dict[str, tuple[int, str]] = {}
    last = len(typed_node.schema.inputs) - 1
    for i, type_ in enumerate(typed_node.inference.inputs):
        formal = typed_node.schema.input(i)
        text = format_type(type_)
        if formal is None or text not in typed_node.schema.type_constraints.get(formal.type, ()):
            continue  # unknown, not of a type variable, or not allowed at all
        if formal.option == "variadic" and (not formal.homogeneous or i > last):
            continue
        assert text is not None, "an allowed type has a name"
        first, expected = bound.setdefault(formal.type, (i, text))
        if text != expected:
            message = f"{formal.type} of {typed_node.name} is {text} here and {expected} at input {first}"
            yield Finding(f"input[{i}]", message, "convert one of the two inputs")
