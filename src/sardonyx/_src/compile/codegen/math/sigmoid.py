"""sigmoid and silu: 1 / (1 + exp(-x)) and x / (1 + exp(-x))."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import (
    LN2_HIGH,
    LN2_LOW,
    LN_2,
    LOG2_E,
    ROUNDER,
    power_of_two,
)
from sardonyx._src.compile.codegen.math.function import vector_function

LOWEST = -253 * LN_2  # at and below it, the power of two that is applied last is zero
HIGHEST = 87.0  # at and above it, 1 + exp(-x) is 1; here n of `negated_exp` is -126, so that 2^n is normal
BIASED = ROUNDER + 127  # n + BIASED has the biased exponent of 2^n in its low bits
# exp(r) = 1 + r + r*r*(a + b*r + ...) for |r| <= ln(2)/2; the error is 2^-28 of exp(r).
EXPM1_COEFFICIENTS = (0.49999994, 0.16666521, 0.041668266, 0.008368678, 0.0013820731)


@vector_function
def sigmoid(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """1 / (1 + exp(-x)), within 2 ulp; subnormal results too."""
    s, power, rest = negated_exp(builder, x)
    # 1 + s*power + power is rounded after each addition.  The greater of 1 and the power is added last, so that the error of
    # the first rounding is small: otherwise the function would not be monotonic.
    return 1 / (builder.fma(s, power, power.clamp_max(1)) + power.clamp_min(1)) * rest


@vector_function
def silu(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """x * sigmoid(x), within 2 ulp; subnormal results too.  NaN of -inf, as the product is."""
    s, power, rest = negated_exp(builder, x)
    # In a fixed order, unlike in `sigmoid`: silu is not monotonic itself.
    return x / (builder.fma(s, power, builder.constant(1, x.type)) + power) * rest


def negated_exp(builder: FunctionBuilder, x: LLVMValue) -> tuple[LLVMValue, LLVMValue, LLVMValue]:
    """(s, power, rest) with exp(-x) = (s + 1) * power / rest and s = exp(r) - 1 for |r| <= ln(2)/2.

    `rest` is 1 unless exp(-x) is above 2^126: there the 1 of 1 + exp(-x) vanishes in rounding, so that the whole quotient may be
    scaled.  1 + (s + 1) * power is below 2^127; what is divided by it is multiplied by `rest` last, so that a subnormal result
    is rounded once.  `rest` is zero from `LOWEST` down, so that an infinite dividend gives NaN there.
    """
    bounded = x.clamp_min(LOWEST).clamp_max(HIGHEST)
    shifted = builder.fma(bounded, -LOG2_E, BIASED)  # rounds to n + BIASED, n an integer, as `ROUNDER` does
    n = shifted - BIASED
    r = builder.fma(n, -LN2_LOW, builder.fma(n, -LN2_HIGH, -bounded))
    top = shifted.clamp_max(BIASED + 126)
    # The shift drops all bits but the biased exponent, which is below 256.
    power = (top.bitcast() << 23).bitcast()
    return expm1_estrin(builder, r), power, power_of_two(top.bitcast() - shifted.bitcast())


def expm1_estrin(builder: FunctionBuilder, r: LLVMValue) -> LLVMValue:
    """exp(r) - 1 for |r| <= ln(2)/2, by Estrin's scheme, whose dependency chain is shorter than Horner's."""
    square, (a, b, c, d, e) = r * r, EXPM1_COEFFICIENTS
    low = builder.fma(r, b, builder.constant(a, r.type))
    high = builder.fma(r, d, builder.constant(c, r.type))
    return builder.fma(builder.fma(builder.fma(square, e, high), square, low), square, r)
