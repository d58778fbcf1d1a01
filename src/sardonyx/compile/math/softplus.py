"""softplus and mish."""

from __future__ import annotations

import math

from sardonyx.compile.math.exponential import exp, scaled
from sardonyx.compile.math.function import function
from sardonyx.compile.math.logarithm import log1p_of
from sardonyx.compile.text import Code, Value

LOWEST = -112.0  # x * exp(x) is zero from there down


@function
def softplus(code: Code, x: Value) -> Value:
    """log(1 + exp(x)), within 2 ulp; denormal results too."""
    small = exp.body(code, -code.absolute(x))
    return log1p_of(code, small) + x.at_least(0)


@function
def mish(code: Code, x: Value) -> Value:
    """x * tanh(softplus(x)), within 3 ulp; denormal results too.  NaN of -inf, as the product is.

    With w = exp(x) and v = w*(w + 2), tanh(softplus(x)) = v / (v + 2).
    """
    first, power = scaled(code, x.at_most(20).at_least(LOWEST))
    more = code.fma(first, power, 2)
    part = first * more
    result = x.at_least(LOWEST) * (part / code.fma(part, power, 2)) * power
    return code.select(x.equals(-math.inf), math.nan, result)
