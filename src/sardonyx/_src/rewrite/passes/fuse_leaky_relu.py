"""fuse-leaky-relu: fuse a piecewise x and alpha * x into LeakyRelu.

Spec:    Mul-7 -13 -14, Max-8 -12 -13, Greater-7 -9 -13, Less-7 -9 -13, Where-9 -16, Relu-6 -13 -14, Neg-6 -13, Add-7 -13 -14,
         Sub-7 -13 -14, LeakyRelu-6 -16
Before:  a = Mul(x, slope)  y = Max(x, a)
or
         z = Constant<value_float = 0.0> ()  c = Greater(x, z)  a = Mul(x, slope)  y = Where(c, x, a)
or
         z = Constant<value_float = 0.0> ()  c = Less(x, z)  a = Mul(x, slope)  y = Where(c, a, x)
or
         r = Relu(x)  n = Neg(x)  q = Relu(n)  a = Mul(q, slope)  y = Sub(r, a)
or
         r = Relu(x)  n = Neg(x)  q = Relu(n)  minus = Mul(q, slope)  y = Add(r, minus)
After:   y = LeakyRelu<alpha = @alpha>(x)
Keeps:   slopes that are not scalar; with Max, slopes outside (0, 1); results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_leaky_relu(match: Match) -> Bindings | None:
    slope, type = match.scalar("slope"), match.edit.type(match.value("x"))
    if slope is None or type is None or not np.isfinite(slope):
        return None
    if type.dtype is DataType.DOUBLE and float(np.float32(slope)) != slope:
        return None
    if match.root.op_type == "Max" and not 0 < slope < 1:
        return None
    return {"alpha": -slope if "minus" in match.values else slope}
