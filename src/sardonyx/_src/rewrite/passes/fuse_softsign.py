"""fuse-softsign: x divided by 1 more than its magnitude is Softsign.

Spec:    Abs-6 -13, Add-7 -13 -14, Div-7 -13 -14, Softsign-1 -22
Before:  a = Abs(x)  o = Constant<value_float = 1.0> ()  s = Add(a, o)  y = Div(x, s)
After:   y = Softsign(x)
Keeps:   values still read elsewhere; every bit.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_softsign(m: Match) -> Bindings | None:
    found = m.edit.type(m.value("x"))
    return {} if found is not None and found.dtype.is_float else None
