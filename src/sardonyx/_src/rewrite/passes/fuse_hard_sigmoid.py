"""fuse-hard-sigmoid: replace clip(x + 3, 0, 6) / 6 by HardSigmoid.

Spec:    Add-7 -13 -14, Clip-6 -11 -12 -13, Mul-7 -13 -14, Div-7 -13 -14, HardSigmoid-6 -22
Before:  c = Constant<value_float = 3.0>() a = Add(x, c) b = Clip<min = 0.0, max = 6.0>(a)
         m = Mul(k, b) d = Constant<value_float = 6.0>() y = Div(m, d)
or
         c = Constant<value_float = 3.0>() a = Add(x, c) b = Clip<min = 0.0, max = 6.0>(a)
         m = Mul(k, b) d = Constant<value_float = 0.16666667>() y = Mul(m, d)
or
         c = Constant<value_float = 3.0>() a = Add(x, c)
         o = Constant<value_float = 0.0>() u = Constant<value_float = 6.0>() b = Clip(a, o, u)
         m = Mul(k, b) d = Constant<value_float = 6.0>() y = Div(m, d)
or
         c = Constant<value_float = 3.0>() a = Add(x, c)
         o = Constant<value_float = 0.0>() u = Constant<value_float = 6.0>() b = Clip(a, o, u)
         m = Mul(k, b) d = Constant<value_float = 0.16666667>() y = Mul(m, d)
or
         c = Constant<value_float = 3.0>() a = Add(x, c) b = Clip<min = 0.0, max = 6.0>(a)
         d = Constant<value_float = 6.0>() m = Div(b, d) y = Mul(k, m)
or
         c = Constant<value_float = 3.0>() a = Add(x, c) b = Clip<min = 0.0, max = 6.0>(a)
         d = Constant<value_float = 0.16666667>() m = Mul(b, d) y = Mul(k, m)
or
         c = Constant<value_float = 3.0>() a = Add(x, c)
         o = Constant<value_float = 0.0>() u = Constant<value_float = 6.0>() b = Clip(a, o, u)
         d = Constant<value_float = 6.0>() m = Div(b, d) y = Mul(k, m)
or
         c = Constant<value_float = 3.0>() a = Add(x, c)
         o = Constant<value_float = 0.0>() u = Constant<value_float = 6.0>() b = Clip(a, o, u)
         d = Constant<value_float = 0.16666667>() m = Mul(b, d) y = Mul(k, m)
After:   h = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(k, h)
Keeps:   intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_hard_sigmoid(match: Match) -> Bindings | None:
    return {}
