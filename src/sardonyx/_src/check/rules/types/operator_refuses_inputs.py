"""SX700 operator-refuses-inputs: an operator does not accept the types, shapes or constants of its inputs.

Clause: Operators.md; IR.md, "Functions"
Catalogue: FUN-22
Why:    every run that reaches this node fails.  In the body of a function, this is reported for each call that leads to it.
Bad:    g (float[2, 3] x) => (float[2, 3] y) { y = Transpose <perm = [0, 2, 1]> (x) }
Good:   g (float[2, 3] x) => (float[3, 2] y) { y = Transpose <perm = [1, 0]> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule

SPECIFIC_RULES = "SX218 SX221 SX703 SX704 SX705 SX706 SX707 SX708 SX709 SX710 SX711 SX714"  # rules for one kind of refusal each


@type_rule("SX700", about=TypedNode, suppressed_by=SPECIFIC_RULES)
def check_operator_refuses_inputs(typed_node: TypedNode) -> Iterator[Finding]:
    if typed_node.error is not None:
        types = ", ".join(str(type or "?") for type in typed_node.inference.inputs)
        inputs = f" (inputs: {types})" if types and "(inputs: " not in typed_node.why else ""
        yield Finding(
            "", f"{typed_node.name}: {typed_node.why}{inputs}", "correct the inputs or the attributes"
        )
