"""fuse-layer-norm: what is centred, divided by its deviation, scaled and shifted is LayerNormalization.

Spec:    ReduceMean-11 -13 -18, Sub-7 -13 -14, Pow-7 -12 -13 -15, Mul-7 -13 -14, Add-7 -13 -14, Sqrt-6 -13,
         Div-7 -13 -14, LayerNormalization-17
Before:  m = ReduceMean<axes = @axes>(x) d = Sub(x, m) k = Constant<value_float = 2.0>() p = Pow(d, k)
         v = ReduceMean<axes = @axes>(p) e = Add(v, epsilon) s = Sqrt(e) n = Div(d, s) a = Mul(n, scale) y = Add(a, bias)
or
         m = ReduceMean<axes = @axes>(x) d = Sub(x, m) p = Mul(d, d)
         v = ReduceMean<axes = @axes>(p) e = Add(v, epsilon) s = Sqrt(e) n = Div(d, s) a = Mul(n, scale) y = Add(a, bias)
or
         m = ReduceMean(x, axes) d = Sub(x, m) k = Constant<value_float = 2.0>() p = Pow(d, k)
         v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) n = Div(d, s) a = Mul(n, scale) y = Add(a, bias)
or
         m = ReduceMean(x, axes) d = Sub(x, m) p = Mul(d, d)
         v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) n = Div(d, s) a = Mul(n, scale) y = Add(a, bias)
After:   y = LayerNormalization<axis = @axis, epsilon = @epsilon>(x, scale, bias)
Keeps:   values still read elsewhere; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match
from sardonyx._src.rewrite.normalized import first_axis, fits


@pattern(phase="fuse")
def fuse_layer_norm(m: Match) -> Bindings | None:
    axis, epsilon = first_axis(m), m.scalar("epsilon")
    if axis is None or epsilon is None or not all(fits(m, name, axis) for name in ("scale", "bias")):
        return None
    return {"axis": axis, "epsilon": epsilon}
