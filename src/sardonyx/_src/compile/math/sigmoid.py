"""sigmoid and silu, as quotients by 1 + exp(-x)."""

from __future__ import annotations

import math

from sardonyx._src.compile.math.exponential import LN2_HIGH, LN2_LOW, LOG2_E, ROUNDER, power_of_two
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value

LOWEST = -112.0  # x * exp(x) is zero from there down
HIGHEST = 87.0  # 1 + exp(-x) is 1 from there up, and well before
BIASED = ROUNDER + 127  # whose last bits are the exponent of 1
# exp(r) = 1 + r + r*r*(a + b*r + ...) for |r| <= ln(2)/2; the error is 2^-28 of exp(r).
SHORT = (0.49999994, 0.16666521, 0.041668266, 0.008368678, 0.0013820731)


@function
def sigmoid(code: Code, x: Value) -> Value:
    """1 / (1 + exp(-x)), within 2 ulp; denormal results too."""
    return gated(code, x, code.constant(1, x.kind))


@function
def silu(code: Code, x: Value) -> Value:
    """x * sigmoid(x), within 2 ulp; denormal results too.  NaN of -inf, as the product is."""
    return code.select(x.equals(-math.inf), math.nan, gated(code, x, x.at_least(LOWEST)))


def gated(code: Code, x: Value, factor: Value) -> Value:
    """factor * sigmoid(x).

    The divisor 1 + exp(-x) stays below 2^127; what exp(-x) has beyond is a power of two that comes last, so that a
    denormal result rounds once.
    """
    bounded = x.at_least(LOWEST).at_most(HIGHEST)
    lifted = code.fma(bounded, -LOG2_E, BIASED)
    count = lifted - BIASED
    r = code.fma(count, -LN2_LOW, code.fma(count, -LN2_HIGH, -bounded))
    s = few(code, r)
    top = lifted.at_most(BIASED + 126)
    power = (top.bits() << 23).bits()
    # The lesser of 1 and the power goes with what is rounded twice.
    divisor = code.fma(s, power, power.at_most(1)) + power.at_least(1)
    return factor / divisor * power_of_two(top.bits() - lifted.bits())


def few(code: Code, r: Value) -> Value:
    """exp(r) - 1 for |r| <= ln(2)/2, in few steps one behind another."""
    square, (a, b, c, d, e) = r * r, SHORT
    low = code.fma(r, b, code.constant(a, r.kind))
    high = code.fma(r, d, code.constant(c, r.kind))
    return code.fma(code.fma(code.fma(square, e, high), square, low), square, r)
