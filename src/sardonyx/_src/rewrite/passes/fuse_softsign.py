"""fuse-softsign: fuse x / (1 + |x|) into Softsign.

Spec:    Abs-6 -13, Add-7 -13 -14, Div-7 -13 -14, Softsign-1 -22
Before:  a = Abs(x)  o = Constant<value_float = 1.0> ()  s = Add(a, o)  y = Div(x, s)
After:   y = Softsign(x)
Keeps:   intermediate values with other uses; results exactly.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_softsign(match: Match) -> Bindings | None:
    type = match.edit.type(match.value("x"))
    return {} if type is not None and type.dtype.is_float else None
