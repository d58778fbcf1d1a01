"""SX709 reshape-count-differs: Reshape is asked for a shape that does not hold the elements of its input.

Clause: Operators.md, Reshape
Catalogue: OPR-08
Why:    Reshape keeps the elements, and so their number.
Bad:    g (float[2, 3] x) => (float[N, M] y) { s = Constant <value_ints = [4, 2]> () y = Reshape (x, s) }
Good:   g (float[2, 3] x) => (float[N, M] y) { s = Constant <value_ints = [-1, 2]> () y = Reshape (x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.uses import Use, typed


@typed("SX709", about=Use, unless="SX703")
def reshape_count_differs(use: Use) -> Iterator[Finding]:
    if use.fault is not None and use.schema.name == "Reshape":
        given = str(use.given.inputs[0] or "?")
        yield Finding(
            "", f"{use.name}: {use.why} (data: {given})", "correct the shape, or leave one size to -1"
        )
