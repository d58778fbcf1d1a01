"""gelu, by the tail of the normal distribution, which is an exponential times what varies slowly."""

from __future__ import annotations

import math

from sardonyx.compile.math.exponential import LN2_HIGH, LN2_LOW, REST, halves, octaves, power_of_two
from sardonyx.compile.math.function import function
from sardonyx.compile.text import Code, Value

# Phi(-a) = exp(-a*a/2) * t*TAIL(t) with t = 1 / (1 + SLOPE*a), for 0 <= a <= 14.6; the error is 2^-25.9 of it.
SLOPE = 0.3
TAIL = (
    0.1196867,
    0.11957162,
    0.110236965,
    0.0783828,
    0.0961758,
    -0.07945741,
    0.1918238,
    -0.22824201,
    0.11244727,
    -0.020625519,
)


@function
def gelu(code: Code, x: Value) -> Value:
    """x * Phi(x) with the normal distribution Phi, within 3 ulp; denormal results too.  NaN of -inf, as the product is."""
    a = code.absolute(x).at_most(14.6)
    first, power = bell(code, a)
    t = 1 / code.fma(a, SLOPE, 1)
    below = x.at_least(-14.6) * first * (t * code.polynomial(t, TAIL)) * power
    result = code.select(x > 0, x - below, below)
    return code.select(x.equals(-math.inf), math.nan, result)


def bell(code: Code, a: Value) -> tuple[Value, Value]:
    """Two factors of exp(-a*a/2) for 0 <= a < 15; the second is a power of two."""
    head = (a.bits() & -4096).bits()  # 12 bits, so that its square is exact
    high, low = head * head * -0.5, (a - head) * (a + head) * -0.5
    count, n = octaves(code, high)
    r = code.fma(count, -LN2_LOW, code.fma(count, -LN2_HIGH, high) + low)
    rest = code.fma(r * r, code.polynomial(r, REST), r)
    first, second = halves(n)
    return (rest + 1) * power_of_two(first), power_of_two(second)
