"""exp, expm1, log, pow, tanh, sigmoid and softplus in double precision, within a few ulp, emitted in place.

Arguments are reduced as in the float32 functions.  The polynomials are Taylor series; the first omitted term is below
2^-56 of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math import double_precision
from sardonyx._src.compile.codegen.math.power import apply_sign

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # 33 bits: its product with n is exact
LN2_LOW = 1.90821492927058770002e-10
ROUNDER = (
    6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, which is then in the low bits of the sum
)
BIASED = ROUNDER + 1023  # n + BIASED has the biased exponent of 2^n in its low bits
OVERFLOW, UNDERFLOW = 710.0, -746.0  # arguments for which exp is infinite, and 0
HIGHEST, LOWEST = 709.0, -40.0  # arguments for which expm1 is still finite, and -1
EXP_TERMS, ATANH_TERMS = 14, 18
EXPM1_COEFFICIENTS = tuple(1 / math.factorial(i) for i in range(2, EXP_TERMS))
ATANH_COEFFICIENTS = tuple(1 / (2 * i + 1) for i in range(1, ATANH_TERMS))


def expm1_reduced(builder: FunctionBuilder, x: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """(exp(r) - 1, 2^n) with x = n*ln(2) + r and |r| <= ln(2)/2, for LOWEST <= x <= HIGHEST."""
    shifted = builder.fma(x, LOG2_E, BIASED)
    n = shifted - BIASED
    r = builder.fma(n, -LN2_LOW, builder.fma(n, -LN2_HIGH, x))
    return builder.fma(r * r, builder.horner(r, EXPM1_COEFFICIENTS), r), (shifted.bitcast() << 52).bitcast()


def exp(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """e to the power x; infinite and subnormal results, too."""
    x = x.clamp_max(OVERFLOW).clamp_min(UNDERFLOW)
    shifted = builder.fma(x, LOG2_E, ROUNDER)
    n, bits = shifted - ROUNDER, shifted.bitcast() - builder.constant(ROUNDER, shifted.type).bitcast()
    r = builder.fma(n, -LN2_LOW, builder.fma(n, -LN2_HIGH, x))
    fraction = builder.fma(r * r, builder.horner(r, EXPM1_COEFFICIENTS), r)
    low = bits >> 1  # scaling in two steps rounds a subnormal result only once
    return (fraction + 1) * power_of_two(low) * power_of_two(bits - low)


def power_of_two(n: LLVMValue) -> LLVMValue:
    """2^n for integers -1022 <= n <= 1023."""
    return ((n + 1023) << 52).bitcast()


def expm1(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """e to the power x, minus 1; x is clamped to the range of finite results."""
    fraction, power = expm1_reduced(builder, x.clamp_max(HIGHEST).clamp_min(LOWEST))
    return builder.fma(fraction, power, power - 1)


def sigmoid(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """1 / (1 + exp(-x)), for x < 0 as exp(x) / (1 + exp(x)): subnormal results, too."""
    u = exp(builder, -builder.fabs(x))
    return builder.select(x < 0, u, builder.constant(1, x.type)) / (u + 1)


def tanh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """exp(2|x|) - 1 over exp(2|x|) + 1, with the sign of x; 1 from 20 on."""
    e = expm1(builder, builder.fabs(x).clamp_max(20) * 2)
    return builder.copysign(e / (e + 2), x)


def softplus(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """max(x, 0) + log(1 + u) with u = exp(-|x|); the logarithm is 2 * atanh(u / (2 + u)), whose argument is at most 1/3."""
    u = exp(builder, -builder.fabs(x))
    s = u / (u + 2)
    square = s * s
    tail = builder.horner(square, ATANH_COEFFICIENTS)
    return x.clamp_min(0) + builder.fma(square * tail, s, s) * 2


def log(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The natural logarithm; -inf at both zeros, NaN below, infinity and NaN are returned."""
    result = builder.select(x < math.inf, double_precision.log(builder, x), x)
    result = builder.select(x < 0, math.nan, result)
    return builder.select(x.eq(0), -math.inf, result)


def split_log(builder: FunctionBuilder, x: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """The natural logarithm of x >= 0 as the sum of two numbers, the second one a correction below an ulp of the first.

    With s = (m - 1) / (m + 1): n * ln(2) + 2s + s^3 * P(s^2), where the error of the division is computed, too.
    """
    is_small = x < double_precision.SMALLEST_EXACT
    bits = builder.select(is_small, x * 2.0**double_precision.SCALE_BITS, x).bitcast()
    exponent = (bits - double_precision.ROOT_HALF) >> 52
    m = (bits - (exponent << 52)).bitcast()
    scaled = exponent.convert("sitofp", "double")
    n = builder.select(is_small, scaled - double_precision.SCALE_BITS, scaled)
    f, divisor = m - 1, m + 1
    s = f / divisor
    residual = builder.fma(-s, m - (divisor - 1), builder.fma(-s, divisor, f)) / divisor
    square, twice = s * s, s * 2
    tail = builder.fma(s * square, builder.horner(square, double_precision.LOG_TERMS[1:]), residual * 2)
    whole = n * LN2_HIGH
    high = whole + twice
    low = builder.fma(n, LN2_LOW, ((whole - high) + twice) + tail)
    total = high + low
    correction = (high - total) + low
    total = builder.select(x < math.inf, total, x)
    return builder.select(x.eq(0), -math.inf, total), correction


def pow(builder: FunctionBuilder, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """x to the power y, within some ulp; for signs, zeros, infinities and NaN as C's `pow` (C17, F.10.4.4)."""
    magnitude = builder.fabs(x)
    logarithm, correction = split_log(builder, magnitude)
    exponent = y * logarithm
    error = builder.fma(y, logarithm, -exponent) + y * correction
    # For results that are infinite or 0, the error may be NaN.
    error = builder.select(builder.fabs(exponent) < OVERFLOW, error, builder.constant(0, x.type))
    power = exp(builder, exponent)
    power = builder.select(power < math.inf, builder.fma(power, error, power), power)
    result = apply_sign(builder, power, x, y)
    is_one = magnitude.eq(1) & builder.fabs(y).eq(math.inf)
    return builder.select(x.eq(1) | y.eq(0) | is_one, 1, result)


DOUBLE_FUNCTIONS: Mapping[str, Callable[..., LLVMValue]] = {
    "exp": exp,
    "log": log,
    "pow": pow,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "tanh": tanh,
}
