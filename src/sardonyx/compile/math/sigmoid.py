"""sigmoid and silu, from exp(-|x|), which never overflows."""

from __future__ import annotations

import math

from sardonyx.compile.math.exponential import scaled
from sardonyx.compile.math.function import function
from sardonyx.compile.text import Code, Value

LOWEST = -112.0  # x * exp(x) is zero from there down


@function
def sigmoid(code: Code, x: Value) -> Value:
    """1 / (1 + exp(-x)), within 2 ulp; denormal results too."""
    return gated(code, x, code.constant(1, x.kind))


@function
def silu(code: Code, x: Value) -> Value:
    """x * sigmoid(x), within 2.5 ulp; denormal results too.  NaN of -inf, as the product is."""
    return code.select(x.equals(-math.inf), math.nan, gated(code, x, x.at_least(LOWEST)))


def gated(code: Code, x: Value, factor: Value) -> Value:
    """factor * sigmoid(x); the power of two comes last, so that a denormal result rounds once."""
    first, power = scaled(code, (-code.absolute(x)).at_least(LOWEST))
    is_below, one = x < 0, code.constant(1, x.kind)
    share = factor * code.select(is_below, first, one)
    return share / code.fma(first, power, 1) * code.select(is_below, power, one)
