"""SX705 variadic-types-differ: operands of one variadic parameter are of several types.

Clause: IR.md, "Variadic Inputs and Outputs"; Operators.md
Catalogue: NOD-09
Why:    the operator says that they all have the same type.
Bad:    g (float[2] x, double[2] z) => (float[4] y) { y = Concat <axis = 0> (x, z) }
Good:   g (float[2] x, double[2] z) => (float[4] y) { f = Cast <to = 1> (z) y = Concat <axis = 0> (x, f) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.spelling import spelled
from sardonyx._src.check.uses import Use, typed


@typed("SX705", about=Use, unless="SX703")
def variadic_types_differ(use: Use) -> Iterator[Finding]:
    formals = use.schema.inputs
    if not formals or formals[-1].option != "variadic" or not formals[-1].homogeneous:
        return
    wanted = None
    for i, found in enumerate(use.given.inputs[len(formals) - 1 :], len(formals) - 1):
        text = spelled(found)
        wanted = wanted or text
        if text is not None and text != wanted:
            says = f"{formals[-1].name} of {use.name} is {text} here and {wanted} before"
            yield Finding(f"input[{i}]", says, "convert the operands to one type")
