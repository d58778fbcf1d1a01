"""fuse-hard-swish: fuse x * HardSigmoid(x) with slope 1/6 into HardSwish.

Spec:    HardSigmoid-6 -22, Mul-7 -13 -14, HardSwish-14 -22
Before:  h = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(x, h)
After:   y = HardSwish(x)
Keeps:   intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_hard_swish(match: Match) -> Bindings | None:
    return {}
