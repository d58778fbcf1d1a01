"""SX707 shapes-do-not-broadcast: operands have shapes that are not broadcastable.

Clause: Broadcasting.md; Operators.md
Catalogue: OPR-05
Why:    counted from the last axis, two sizes must be equal or one of them 1; before version 7 of the set, rules are stricter.
Bad:    g (float[2, 3] x, float[2] z) => (float[2, 3] y) { y = Add (x, z) }
Good:   g (float[2, 3] x, float[3] z) => (float[2, 3] y) { y = Add (x, z) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule
from sardonyx._src.ops.registry import find


@type_rule("SX707", about=TypedNode, suppressed_by="SX703 SX704 SX705")
def check_shapes_do_not_broadcast(typed_node: TypedNode) -> Iterator[Finding]:
    if (
        typed_node.error is None
        or typed_node.error.about not in ("", "broadcast")
        or len(typed_node.inference.inputs) < 2
    ):
        return
    operator = find(typed_node.schema.domain, typed_node.schema.name)
    if typed_node.error.about == "broadcast" or (operator is not None and operator.elementwise):
        types = ", ".join(str(type or "?") for type in typed_node.inference.inputs)
        yield Finding(
            "", f"{typed_node.name}: {typed_node.why} (inputs: {types})", "reshape one of the operands"
        )
