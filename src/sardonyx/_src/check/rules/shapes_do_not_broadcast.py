"""SX707 shapes-do-not-broadcast: operands have shapes that cannot be broadcast to one.

Clause: Broadcasting.md; Operators.md
Catalogue: OPR-05
Why:    counted from the last axis, two sizes have to be equal, or one of them 1; before version 7 of the set more narrowly.
Bad:    g (float[2, 3] x, float[2] z) => (float[2, 3] y) { y = Add (x, z) }
Good:   g (float[2, 3] x, float[3] z) => (float[2, 3] y) { y = Add (x, z) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.uses import Use, typed
from sardonyx._src.ops.registry import find


@typed("SX707", about=Use, unless="SX703 SX704 SX705")
def shapes_do_not_broadcast(use: Use) -> Iterator[Finding]:
    if use.fault is None or use.fault.about not in ("", "broadcast") or len(use.given.inputs) < 2:
        return
    operator = find(use.schema.domain, use.schema.name)
    if use.fault.about == "broadcast" or (operator is not None and operator.elementwise):
        types = ", ".join(str(type or "?") for type in use.given.inputs)
        yield Finding("", f"{use.name}: {use.why} (inputs: {types})", "reshape one of the operands")
