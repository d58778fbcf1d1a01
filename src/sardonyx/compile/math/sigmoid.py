"""sigmoid and silu, as quotients by 1 + exp(-x)."""

from __future__ import annotations

import math

from sardonyx.compile.math.exponential import halves, power_of_two, reduced
from sardonyx.compile.math.function import function
from sardonyx.compile.text import Code, Value

LOWEST = -112.0  # x * exp(x) is zero from there down


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

    With exp(-x) = 2^(low + high) * (1 + s), the divisor is (1 + exp(-x)) * 2^-high, which never overflows; the power
    of two that is left comes last, so that a denormal result rounds once.
    """
    s, n = reduced(code, (-x).at_most(-LOWEST).at_least(LOWEST))
    low, high = halves(n)
    power, inverse = power_of_two(low), power_of_two(-high)
    total = power + inverse
    lost = inverse - (total - power)
    return factor / (code.fma(s, power, lost) + total) * inverse
