"""sigmoid and silu: 1 / (1 + exp(-x)) and x / (1 + exp(-x))."""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen.builder import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import LN2_HIGH, LN2_LOW, LOG2_E, ROUNDER, power_of_two
from sardonyx._src.compile.codegen.math.function import vector_function

LOWEST = -112.0  # at and below it, x * exp(x) is zero
HIGHEST = 87.0  # at and above it, 1 + exp(-x) is 1
BIASED = ROUNDER + 127  # its low bits are the biased exponent of 1
# exp(r) = 1 + r + r*r*(a + b*r + ...) for |r| <= ln(2)/2; the error is 2^-28 of exp(r).
EXPM1_COEFFICIENTS = (0.49999994, 0.16666521, 0.041668266, 0.008368678, 0.0013820731)


@vector_function
def sigmoid(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """1 / (1 + exp(-x)), within 2 ulp; subnormal results too."""
    return scaled_sigmoid(builder, x, builder.constant(1, x.type))


@vector_function
def silu(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """x * sigmoid(x), within 2 ulp; subnormal results too.  NaN of -inf, as the product is."""
    return builder.select(x.eq(-math.inf), math.nan, scaled_sigmoid(builder, x, x.clamp_min(LOWEST)))


def scaled_sigmoid(builder: FunctionBuilder, x: LLVMValue, factor: LLVMValue) -> LLVMValue:
    """factor * sigmoid(x).

    The divisor 1 + exp(-x) is kept below 2^127; the remaining power of two is applied last, so that a subnormal result
    is rounded once.
    """
    bounded = x.clamp_min(LOWEST).clamp_max(HIGHEST)
    shifted = builder.fma(bounded, -LOG2_E, BIASED)
    n = shifted - BIASED
    r = builder.fma(n, -LN2_LOW, builder.fma(n, -LN2_HIGH, -bounded))
    s = expm1_estrin(builder, r)
    top = shifted.clamp_max(BIASED + 126)
    power = (top.bitcast() << 23).bitcast()
    # The smaller of 1 and the power is the addend that is rounded twice.
    divisor = builder.fma(s, power, power.clamp_max(1)) + power.clamp_min(1)
    return factor / divisor * power_of_two(top.bitcast() - shifted.bitcast())


def expm1_estrin(builder: FunctionBuilder, r: LLVMValue) -> LLVMValue:
    """exp(r) - 1 for |r| <= ln(2)/2, by Estrin's scheme, whose dependency chain is shorter than Horner's."""
    square, (a, b, c, d, e) = r * r, EXPM1_COEFFICIENTS
    low = builder.fma(r, b, builder.constant(a, r.type))
    high = builder.fma(r, d, builder.constant(c, r.type))
    return builder.fma(builder.fma(builder.fma(square, e, high), square, low), square, r)
