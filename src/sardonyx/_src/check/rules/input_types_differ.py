"""SX704 input-types-differ: inputs that have to be of one type are of several.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-11
Why:    a type variable of the signature stands for one type; nothing is converted on the way.
Bad:    g (float[2] x, int64[2] z) => (float[2] y) { y = Add (x, z) }
Good:   g (float[2] x, int64[2] z) => (float[2] y) { f = Cast <to = 1> (z) y = Add (x, f) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.spelling import spelled
from sardonyx._src.check.uses import Use, typed


@typed("SX704", about=Use, unless="SX703")
def input_types_differ(use: Use) -> Iterator[Finding]:
    """Of a variadic parameter the first operand stands for all."""
    bound: dict[str, tuple[int, str]] = {}
    last = len(use.schema.inputs) - 1
    for i, found in enumerate(use.given.inputs):
        formal = use.schema.input(i)
        text = spelled(found)
        if formal is None or text not in use.schema.type_constraints.get(formal.type, ()):
            continue  # unknown, not of a type variable, or not allowed at all
        if formal.option == "variadic" and (not formal.homogeneous or i > last):
            continue
        assert text is not None, "what is allowed has a name"
        first, wanted = bound.setdefault(formal.type, (i, text))
        if text != wanted:
            says = f"{formal.type} of {use.name} is {text} here and {wanted} at input {first}"
            yield Finding(f"input[{i}]", says, "convert one of the two inputs")
