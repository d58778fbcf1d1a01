"""gelu in double precision, by the tail of the normal distribution: an exponential times what varies slowly."""

from __future__ import annotations

import math

from sardonyx.compile.math.double import LOG2_E, exp2_of_product
from sardonyx.compile.math.function import function
from sardonyx.compile.text import Code, Value

LOWEST = -14.6  # gelu is zero from there down
# Phi(-a) = exp(-a*a/2) * t*TAIL(t) with t = 1 / (1 + SLOPE*a), for 0 <= a <= 14.6; the error is 2^-28 of it.
SLOPE = 0.3
TAIL = (
    0.11968669696263999,
    0.11957168259854326,
    0.11023645508510162,
    0.07838510470988219,
    0.09616927858178838,
    -0.07944548711161599,
    0.191809681463781,
    -0.2282315739598264,
    0.11244291728994438,
    -0.020624757349550937,
)


@function
def gelu(code: Code, x: Value) -> Value:
    """x * Phi(x) with the normal distribution Phi, within 0.7 ulp; denormal results too.  NaN of -inf, as the product is."""
    a = code.absolute(x).at_most(-LOWEST).converted("fpext", "double")
    above = x.at_least(0).converted("fpext", "double")
    t = 1 / code.fma(a, SLOPE, 1)
    below = a * exp2_of_product(code, a * a, -LOG2_E / 2) * (t * code.polynomial(t, TAIL))
    result = (above - below).converted("fptrunc", "float")
    return code.select(x.equals(-math.inf), math.nan, result)
