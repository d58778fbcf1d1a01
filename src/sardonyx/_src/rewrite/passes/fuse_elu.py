"""fuse-elu: fuse a piecewise x and alpha * (exp(x) - 1) into Elu.

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
Keeps:   factors that are not scalar; intermediate values with other uses; results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_elu(match: Match) -> Bindings | None:
    if "factor" not in match.values:
        return {"alpha": 1.0}
    factor, type = match.scalar("factor"), match.edit.type(match.value("x"))
    if factor is None or type is None or not np.isfinite(factor):
        return None
    is_exact = type.dtype is not DataType.DOUBLE or float(np.float32(factor)) == factor
    return {"alpha": factor} if is_exact else None
