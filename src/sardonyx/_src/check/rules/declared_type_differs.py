"""SX701 declared-type-differs: the declared type of a value contradicts what its operator makes.

Clause: IR.md, "Graphs", "Nodes"
Catalogue: GRA-18
Why:    whoever relies on the declaration takes the value for something else than it is.  Dimension variables and unknown
        sizes contradict nothing; numbers, ranks, element types and kinds do.
Bad:    g (float[2, 3] x) => (float[2, 3] y) { y = Transpose <perm = [1, 0]> (x) }
Good:   g (float[2, 3] x) => (float[N, M] y) { y = Transpose <perm = [1, 0]> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.uses import Declaration, typed
from sardonyx._src.proto.record import brief


@typed("SX701", about=Declaration)
def declared_type_differs(one: Declaration) -> Iterator[Finding]:
    if one.fault is not None:
        says = f"{brief(one.value.name)} is declared {one.declared}, its operator makes {one.found}"
        yield Finding(one.at, says, "correct the declaration, or what stands before it")
