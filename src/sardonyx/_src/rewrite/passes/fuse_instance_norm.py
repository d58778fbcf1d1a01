"""fuse-instance-norm: fuse normalization over the spatial axes, scale and bias into InstanceNormalization.

Spec:    ReduceMean-1 -11 -13 -18, Sub-7 -13 -14, Pow-7 -12 -13 -15, Mul-7 -13 -14, Add-7 -13 -14, Sqrt-6 -13,
         Div-7 -13 -14, InstanceNormalization-6 -22
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
After:   y = InstanceNormalization<epsilon = @epsilon>(x, scales, biases)
Keeps:   scales and biases that are not constants per channel; intermediate values with other uses; results up to
         rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match
from sardonyx._src.rewrite.support.normalization import first_normalized_axis, per_channel


@pattern(phase="fuse")
def fuse_instance_norm(match: Match) -> Bindings | None:
    shape, epsilon = match.edit.shape(match.value("x")), match.scalar("epsilon")
    if shape is None or epsilon is None or len(shape) < 3 or first_normalized_axis(match) != 2:
        return None
    channels = shape[1]
    if not isinstance(channels, int):
        return None
    scales, biases = per_channel(match, "scale", channels), per_channel(match, "bias", channels)
    if scales is None or biases is None:
        return None
    return {"epsilon": epsilon, "scales": scales, "biases": biases}
