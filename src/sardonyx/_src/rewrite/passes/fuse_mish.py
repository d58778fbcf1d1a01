"""fuse-mish: x times the tanh of its Softplus is Mish.

Spec:    Softplus-1 -22, Tanh-6 -13, Mul-7 -13 -14, Mish-18 -22
Before:  s = Softplus(x) t = Tanh(s) y = Mul(x, t)
After:   y = Mish(x)
Keeps:   values still read elsewhere; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_mish(m: Match) -> Bindings | None:
    return {}
