"""fuse-gelu: fuse x * 0.5 * (1 + erf(x / sqrt(2))), or its tanh approximation, into Gelu.

Spec:    Div-7 -13 -14, Mul-7 -13 -14, Erf-9 -13, Add-7 -13 -14, Pow-7 -12 -13 -15, Tanh-6 -13, Gelu-20
Before:  r = Constant<value_float = 1.4142135>() d = Div(x, r) e = Erf(d) o = Constant<value_float = 1.0>() a = Add(e, o)
         m = Mul(x, a) h = Constant<value_float = 0.5>() y = Mul(m, h)
or
         r = Constant<value_float = 1.4142135>() d = Div(x, r) e = Erf(d) o = Constant<value_float = 1.0>() a = Add(e, o)
         h = Constant<value_float = 0.5>() m = Mul(x, h) y = Mul(m, a)
or
         r = Constant<value_float = 1.4142135>() d = Div(x, r) e = Erf(d) o = Constant<value_float = 1.0>() a = Add(e, o)
         h = Constant<value_float = 0.5>() m = Mul(a, h) y = Mul(x, m)
or
         r = Constant<value_float = 0.70710677>() d = Mul(x, r) e = Erf(d) o = Constant<value_float = 1.0>() a = Add(e, o)
         m = Mul(x, a) h = Constant<value_float = 0.5>() y = Mul(m, h)
or
         r = Constant<value_float = 0.70710677>() d = Mul(x, r) e = Erf(d) o = Constant<value_float = 1.0>() a = Add(e, o)
         h = Constant<value_float = 0.5>() m = Mul(x, h) y = Mul(m, a)
or
         r = Constant<value_float = 0.70710677>() d = Mul(x, r) e = Erf(d) o = Constant<value_float = 1.0>() a = Add(e, o)
         h = Constant<value_float = 0.5>() m = Mul(a, h) y = Mul(x, m)
or
         n = Constant<value_float = 3.0>() p = Pow(x, n) k = Constant<value_float = 0.044715>() q = Mul(p, k) r = Add(x, q)
         c = Constant<value_float = 0.7978846>() s = Mul(r, c) t = Tanh(s) o = Constant<value_float = 1.0>() a = Add(t, o)
         h = Constant<value_float = 0.5>() m = Mul(x, h) y = Mul(m, a)
or
         n = Constant<value_float = 3.0>() p = Pow(x, n) k = Constant<value_float = 0.044715>() q = Mul(p, k) r = Add(x, q)
         c = Constant<value_float = 0.7978846>() s = Mul(r, c) t = Tanh(s) o = Constant<value_float = 1.0>() a = Add(t, o)
         m = Mul(x, a) h = Constant<value_float = 0.5>() y = Mul(m, h)
or
         n = Constant<value_float = 3.0>() p = Pow(x, n) k = Constant<value_float = 0.044715>() q = Mul(p, k) r = Add(x, q)
         c = Constant<value_float = 0.7978846>() s = Mul(r, c) t = Tanh(s) o = Constant<value_float = 1.0>() a = Add(t, o)
         h = Constant<value_float = 0.5>() m = Mul(a, h) y = Mul(x, m)
After:   y = Gelu<approximate = @approximate>(x)
Keeps:   intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_gelu(match: Match) -> Bindings | None:
    return {"approximate": "tanh" if "t" in match.values else "none"}
