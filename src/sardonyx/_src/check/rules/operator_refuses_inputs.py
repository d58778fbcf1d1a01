"""SX700 operator-refuses-inputs: an operator is given types, shapes or constants with which it cannot compute.

Clause: Operators.md; IR.md, "Functions"
Catalogue: FUN-22
Why:    every run that comes to this node fails.  In the body of a function this is told for each call that leads to it.
Bad:    g (float[2, 3] x) => (float[2, 3] y) { y = Transpose <perm = [0, 2, 1]> (x) }
Good:   g (float[2, 3] x) => (float[3, 2] y) { y = Transpose <perm = [1, 0]> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.uses import Use, typed

NAMED = "SX218 SX221 SX703 SX704 SX705 SX706 SX707 SX708 SX709 SX710 SX711 SX714"  # rules about one kind of refusal


@typed("SX700", about=Use, unless=NAMED)
def operator_refuses_inputs(use: Use) -> Iterator[Finding]:
    if use.fault is not None:
        types = ", ".join(str(type or "?") for type in use.given.inputs)
        given = f" (inputs: {types})" if types and "(inputs: " not in use.why else ""
        yield Finding("", f"{use.name}: {use.why}{given}", "correct the inputs or the attributes")
