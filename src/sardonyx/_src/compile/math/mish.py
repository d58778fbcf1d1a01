"""mish, in double precision."""

from __future__ import annotations

import math

from sardonyx._src.compile.math.double import LOG2_E, exp2
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value


@function
def mish(code: Code, x: Value) -> Value:
    """x * tanh(softplus(x)), within 0.6 ulp; denormal results too.  NaN of -inf, as the product is.

    With w = exp(x) and v = w*(w + 2), tanh(softplus(x)) = v / (v + 2).
    """
    wide = x.at_least(-112).converted("fpext", "double")
    w = exp2(code, wide.at_most(100) * LOG2_E)
    v = w * (w + 2)
    result = (wide * v / (v + 2)).converted("fptrunc", "float")
    return code.select(x.equals(-math.inf), math.nan, result)
