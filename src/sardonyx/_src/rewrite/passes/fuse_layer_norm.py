"""fuse-layer-norm: fuse normalization by mean and deviation, with scale and bias, into LayerNormalization.

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
Keeps:   intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match
from sardonyx._src.rewrite.support.normalization import broadcasts_to_axes, first_normalized_axis


@pattern(phase="fuse")
def fuse_layer_norm(match: Match) -> Bindings | None:
    axis, epsilon = first_normalized_axis(match), match.scalar("epsilon")
    if (
        axis is None
        or epsilon is None
        or not all(broadcasts_to_axes(match, name, axis) for name in ("scale", "bias"))
    ):
        return None
    return {"axis": axis, "epsilon": epsilon}
