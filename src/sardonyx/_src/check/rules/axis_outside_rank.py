"""SX708 axis-outside-rank: an axis lies outside of the rank of the tensor it is about.

Clause: Operators.md
Catalogue: OPR-06
Why:    there is no such axis.
Bad:    g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 2> (x) }
Good:   g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = -1> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.uses import Use, typed


@typed("SX708", about=Use, unless="SX703")
def axis_outside_rank(use: Use) -> Iterator[Finding]:
    if use.fault is not None and use.fault.about == "axis":
        yield Finding("", f"{use.name}: {use.why}", "name an axis that the tensor has")
