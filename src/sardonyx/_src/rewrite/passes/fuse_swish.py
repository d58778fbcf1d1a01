"""fuse-swish: fuse x * Sigmoid(alpha * x) into Swish.

Spec:    Sigmoid-6 -13, Mul-7 -13 -14, Swish-24
Before:  s = Sigmoid(x)  y = Mul(x, s)
or
         a = Mul(x, c)  s = Sigmoid(a)  y = Mul(x, s)
After:   y = Swish<alpha = @alpha>(x)
Keeps:   intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_swish(match: Match) -> Bindings | None:
    alpha = match.scalar("c") if "c" in match.values else 1.0
    return None if alpha is None else {"alpha": alpha}
