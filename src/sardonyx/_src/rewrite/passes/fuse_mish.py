"""fuse-mish: fuse x * tanh(Softplus(x)) into Mish.

Spec:    Softplus-1 -22, Tanh-6 -13, Mul-7 -13 -14, Mish-18 -22
Before:  s = Softplus(x) t = Tanh(s) y = Mul(x, t)
After:   y = Mish(x)
Keeps:   intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_mish(match: Match) -> Bindings | None:
    return {}
