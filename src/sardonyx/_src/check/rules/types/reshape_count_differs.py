"""SX709 reshape-count-differs: the shape given to Reshape has another number of elements than its input.

Clause: Operators.md, Reshape
Catalogue: OPR-08
Why:    Reshape keeps the elements, and thus their number.
Bad:    g (float[2, 3] x) => (float[N, M] y) { s = Constant <value_ints = [4, 2]> () y = Reshape (x, s) }
Good:   g (float[2, 3] x) => (float[N, M] y) { s = Constant <value_ints = [-1, 2]> () y = Reshape (x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule


@type_rule("SX709", about=TypedNode, suppressed_by="SX703")
def check_reshape_count_differs(typed_node: TypedNode) -> Iterator[Finding]:
    if typed_node.error is not None and typed_node.schema.name == "Reshape":
        data = str(typed_node.inference.inputs[0] or "?")
        yield Finding(
            "",
            f"{typed_node.name}: {typed_node.why} (data: {data})",
            "correct the shape, or set one size to -1",
        )
