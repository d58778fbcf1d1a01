"""fuse-rms-norm: fuse division by the root mean square, with a scale, into RMSNormalization.

Spec:    Pow-7 -12 -13 -15, Mul-7 -13 -14, ReduceMean-11 -13 -18, Add-7 -13 -14, Sqrt-6 -13, Div-7 -13 -14,
         Reciprocal-6 -13, RMSNormalization-23
Before:  k = Constant<value_float = 2.0>() p = Pow(x, k) v = ReduceMean<axes = @axes>(p) e = Add(v, epsilon) s = Sqrt(e) n = Div(x, s) y = Mul(n, scale)
or
         k = Constant<value_float = 2.0>() p = Pow(x, k) v = ReduceMean<axes = @axes>(p) e = Add(v, epsilon) s = Sqrt(e) r = Reciprocal(s) n = Mul(x, r) y = Mul(n, scale)
or
         k = Constant<value_float = 2.0>() p = Pow(x, k) v = ReduceMean<axes = @axes>(p) e = Add(v, epsilon) s = Sqrt(e) o = Constant<value_float = 1.0>() r = Div(o, s) n = Mul(x, r) y = Mul(n, scale)
or
         p = Mul(x, x) v = ReduceMean<axes = @axes>(p) e = Add(v, epsilon) s = Sqrt(e) n = Div(x, s) y = Mul(n, scale)
or
         p = Mul(x, x) v = ReduceMean<axes = @axes>(p) e = Add(v, epsilon) s = Sqrt(e) r = Reciprocal(s) n = Mul(x, r) y = Mul(n, scale)
or
         p = Mul(x, x) v = ReduceMean<axes = @axes>(p) e = Add(v, epsilon) s = Sqrt(e) o = Constant<value_float = 1.0>() r = Div(o, s) n = Mul(x, r) y = Mul(n, scale)
or
         k = Constant<value_float = 2.0>() p = Pow(x, k) v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) n = Div(x, s) y = Mul(n, scale)
or
         k = Constant<value_float = 2.0>() p = Pow(x, k) v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) r = Reciprocal(s) n = Mul(x, r) y = Mul(n, scale)
or
         k = Constant<value_float = 2.0>() p = Pow(x, k) v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) o = Constant<value_float = 1.0>() r = Div(o, s) n = Mul(x, r) y = Mul(n, scale)
or
         p = Mul(x, x) v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) n = Div(x, s) y = Mul(n, scale)
or
         p = Mul(x, x) v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) r = Reciprocal(s) n = Mul(x, r) y = Mul(n, scale)
or
         p = Mul(x, x) v = ReduceMean(p, axes) e = Add(v, epsilon) s = Sqrt(e) o = Constant<value_float = 1.0>() r = Div(o, s) n = Mul(x, r) y = Mul(n, scale)
After:   y = RMSNormalization<axis = @axis, epsilon = @epsilon>(x, scale)
Keeps:   intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match
from sardonyx._src.rewrite.support.normalization import broadcasts_to_axes, first_normalized_axis


@pattern(phase="fuse")
def fuse_rms_norm(match: Match) -> Bindings | None:
    axis, epsilon = first_normalized_axis(match), match.scalar("epsilon")
    if (
        axis is None
        or epsilon is None
        or not broadcasts_to_axes(match, "scale", axis)
        or is_layer_norm(match)
    ):
        return None
    return {"axis": axis, "epsilon": epsilon}


def is_layer_norm(match: Match) -> bool:
    """Whether x is centered and the result shifted: fuse-layer-norm fuses that."""
    centered, (result,) = match.value("x").producer, match.root.outputs[:1]
    if centered is None or centered.op_type != "Sub" or [node.op_type for node, _ in result.uses] != ["Add"]:
        return False
    mean = centered.inputs[1]
    return mean is not None and mean.producer is not None and mean.producer.op_type == "ReduceMean"
