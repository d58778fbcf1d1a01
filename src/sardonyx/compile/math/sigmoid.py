"""sigmoid and silu, from exp(-|x|), which never overflows."""

from __future__ import annotations

from sardonyx.compile.math.exponential import scaled
from sardonyx.compile.math.function import function
from sardonyx.compile.text import Code, Value


@function
def sigmoid(code: Code, x: Value) -> Value:
    """1 / (1 + exp(-x)), within 2 ulp; denormal results too."""
    return gated(code, x, code.constant(1, x.kind))


@function
def silu(code: Code, x: Value) -> Value:
    """x * sigmoid(x), within 2.5 ulp; NaN of -inf, as the product is."""
    return gated(code, x, x)


def gated(code: Code, x: Value, factor: Value) -> Value:
    """factor * sigmoid(x); the power of two comes last, so that a denormal result rounds once."""
    first, power = scaled(code, (-code.absolute(x)).at_least(-104))
    below = x < 0
    share = factor * code.select(below, first, code.constant(1, x.kind))
    return share / code.fma(first, power, 1) * code.select(below, power, code.constant(1, x.kind))
