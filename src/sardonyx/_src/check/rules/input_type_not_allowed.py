"""SX703 input-type-not-allowed: an input is of a type that the operator does not take.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-10 FUN-22
Why:    the bound version of the operator is defined for the listed types alone.
Bad:    g (string[2] x) => (string[2] y) { y = Abs (x) }
Good:   g (int8[2] x) => (int8[2] y) { y = Abs (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.spelling import listed, spelled
from sardonyx._src.check.uses import Use, typed


@typed("SX703", about=Use)
def input_type_not_allowed(use: Use) -> Iterator[Finding]:
    for i, found in enumerate(use.given.inputs):
        formal = use.schema.input(i)
        text = spelled(found)
        if formal is None or text is None:
            continue
        allowed = use.schema.allowed(formal)
        if text not in allowed:
            says = f"{formal.name} of {use.name} is {text}; allowed: {listed(allowed)}"
            yield Finding(
                f"input[{i}]", says, "convert the input, or import a version of the set that takes it"
            )
