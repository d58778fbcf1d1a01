"""log2, exp2, exp and log in double precision, for functions that would magnify the rounding errors of single precision."""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue

LOG2_E = 1.4426950408889634
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2), the lower bound of the mantissa
ROUNDER = (
    6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, which is then in the low bits of the sum
)
ROUNDER_BITS = 0x4338000000000000  # the bits of ROUNDER
BIASED = ROUNDER + 1023  # n + BIASED has the biased exponent of 2^n in its low bits
# log2((1+s) / (1-s)) = s*P(s*s) from sqrt(1/2) to sqrt(2); the error is 2^-45 of it.
LOG2_COEFFICIENTS = (
    2.88539008177785,
    0.9617966941136264,
    0.5770779422637548,
    0.4122092638751879,
    0.31990518232795684,
    0.2829080507864328,
)
# exp2(r) for |r| <= 1/2; the error is 2^-29 of it.
EXP2_COEFFICIENTS = (
    1.0000000005552858,
    0.6931472057687327,
    0.2402264688357246,
    0.05550328707745398,
    0.00961848955138816,
    0.0013399958868384433,
    0.00015345704114372373,
)


def log2(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """log2(x) of float32 x >= 0, including zero, infinity and NaN, as double, within 2^-45 of it."""
    bits = x.convert("fpext", "double").bitcast()
    exponent = (bits - ROOT_HALF) >> 52
    m = (bits - (exponent << 52)).bitcast()
    s = (m - 1) / (m + 1)
    exponent = exponent.convert("trunc", "i32").convert("sitofp", "double")
    result = builder.fma(s, builder.horner(s * s, LOG2_COEFFICIENTS), exponent)
    result = builder.select(x < math.inf, result, x.convert("fpext", "double"))
    return builder.select(x.eq(0), -math.inf, result)


def exp2(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """2 to the power x for |x| < 1000, within 2^-29 of it."""
    shifted = x + BIASED
    return builder.horner(x - (shifted - BIASED), EXP2_COEFFICIENTS) * (shifted.bitcast() << 52).bitcast()


# --- within a few roundings of float64 ---------------------------------------------------------

LN_2_HIGH, LN_2_LOW = 0.6931471805599453, 2.3190468138462996e-17
EXP_TERMS = tuple(1 / math.factorial(n) for n in range(14))  # for |r| <= ln(2) / 2; the error is 2^-58
LOG_TERMS = tuple(2 / (2 * n + 1) for n in range(12))  # ln((1+s) / (1-s)) / s in s*s; the error is 2^-59
LARGEST_EXPONENT, LEAST_EXPONENT = 710.0, -746.0  # beyond which exp is infinite or 0
SMALLEST_EXACT, SCALE_BITS = 2.0**-1000, 100  # numbers below are scaled before their exponent is read


def exp(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """exp(x) of float64, for all numbers, infinities and NaN."""
    bounded = x.clamp_max(LARGEST_EXPONENT).clamp_min(LEAST_EXPONENT)
    shifted = builder.fma(bounded, LOG2_E, ROUNDER)
    n = shifted - ROUNDER
    r = builder.fma(n, -LN_2_LOW, builder.fma(n, -LN_2_HIGH, bounded))
    exponent = shifted.bitcast() - ROUNDER_BITS
    half = exponent >> 1  # 2^exponent may be out of range; its two factors are normal numbers
    low, high = (((part + 1023) << 52).bitcast() for part in (half, exponent - half))
    return builder.horner(r, EXP_TERMS) * low * high


def log(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The natural logarithm of positive finite float64."""
    is_small = x < SMALLEST_EXACT
    bits = builder.select(is_small, x * 2.0**SCALE_BITS, x).bitcast()
    exponent = (bits - ROOT_HALF) >> 52
    m = (bits - (exponent << 52)).bitcast()
    s = (m - 1) / (m + 1)
    scaled = exponent.convert("sitofp", "double")
    n = builder.select(is_small, scaled - SCALE_BITS, scaled)
    return builder.fma(n, LN_2_HIGH, builder.fma(s, builder.horner(s * s, LOG_TERMS), n * LN_2_LOW))
