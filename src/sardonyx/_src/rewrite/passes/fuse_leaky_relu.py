"""fuse-leaky-relu: x above zero, and a multiple of it below, is LeakyRelu.

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
Keeps:   slopes that differ from element to element, and those of a maximum beyond 0 and 1; results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_leaky_relu(m: Match) -> Bindings | None:
    slope, found = m.scalar("slope"), m.edit.type(m.value("x"))
    if slope is None or found is None or not np.isfinite(slope):
        return None
    if found.dtype is DataType.DOUBLE and float(np.float32(slope)) != slope:
        return None
    if m.root.op_type == "Max" and not 0 < slope < 1:
        return None
    return {"alpha": -slope if "minus" in m.values else slope}
