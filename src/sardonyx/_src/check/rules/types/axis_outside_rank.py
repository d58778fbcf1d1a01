"""SX708 axis-outside-rank: an axis is outside the rank of its tensor.

Clause: Operators.md
Catalogue: OPR-06
Why:    the tensor has no such axis.
Bad:    g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 2> (x) }
Good:   g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = -1> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule


@type_rule("SX708", about=TypedNode, suppressed_by="SX703")
def check_axis_outside_rank(typed_node: TypedNode) -> Iterator[Finding]:
    if typed_node.error is not None and typed_node.error.about == "axis":
        yield Finding("", f"{typed_node.name}: {typed_node.why}", "use an axis that the tensor has")
