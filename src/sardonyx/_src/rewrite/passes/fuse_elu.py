"""fuse-elu: x above zero, and the exponential less 1 below, is Elu.

Spec:    Exp-6 -13, Sub-7 -13 -14, Add-7 -13 -14, Mul-7 -13 -14, Greater-7 -9 -13, Less-7 -9 -13, Where-9 -16, Relu-6 -13 -14,
         Min-8 -12 -13, Elu-6 -22
Before:  z = Constant<value_float = 0.0> ()  c = Greater(x, z)  e = Exp(x)  o = Constant<value_float = 1.0> ()
         s = Sub(e, o)  y = Where(c, x, s)
or
         z = Constant<value_float = 0.0> ()  c = Greater(x, z)  e = Exp(x)  o = Constant<value_float = 1.0> ()
         s = Sub(e, o)  a = Mul(s, factor)  y = Where(c, x, a)
or
         z = Constant<value_float = 0.0> ()  c = Less(x, z)  e = Exp(x)  o = Constant<value_float = 1.0> ()
         s = Sub(e, o)  y = Where(c, s, x)
or
         r = Relu(x)  z = Constant<value_float = 0.0> ()  n = Min(x, z)  e = Exp(n)  o = Constant<value_float = 1.0> ()
         s = Sub(e, o)  y = Add(r, s)
or
         r = Relu(x)  z = Constant<value_float = 0.0> ()  n = Min(x, z)  e = Exp(n)  o = Constant<value_float = 1.0> ()
         s = Sub(e, o)  a = Mul(s, factor)  y = Add(r, a)
After:   y = Elu<alpha = @alpha>(x)
Keeps:   factors that differ from element to element; values still read elsewhere; results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_elu(m: Match) -> Bindings | None:
    if "factor" not in m.values:
        return {"alpha": 1.0}
    factor, found = m.scalar("factor"), m.edit.type(m.value("x"))
    if factor is None or found is None or not np.isfinite(factor):
        return None
    is_exact = found.dtype is not DataType.DOUBLE or float(np.float32(factor)) == factor
    return {"alpha": factor} if is_exact else None
