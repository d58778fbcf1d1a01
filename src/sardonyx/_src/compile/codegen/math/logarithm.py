"""log and log1p: x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)], then k*ln(2) plus a polynomial in f."""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import LN2_HIGH, LN2_LOW
from sardonyx._src.compile.codegen.math.function import vector_function

ROOT_HALF = 0x3F3504F3  # the bits of sqrt(1/2), the lower bound of 1 + f
SMALLEST_NORMAL = 2.0**-126
# log(1 + f) = f - f*f/2 + f*f*f*P(f) from sqrt(1/2) to sqrt(2); the error is 2^-27.6 of it.
LOG1P_COEFFICIENTS = (
    0.33333313,
    -0.25000167,
    0.20002224,
    -0.16659367,
    0.14209771,
    -0.12548919,
    0.12100424,
    -0.10913632,
    0.05366912,
)


def binary_exponent(x: LLVMValue) -> LLVMValue:
    """The integer k with x * 2^-k from sqrt(1/2) to sqrt(2), of a normal x > 0."""
    return (x.bitcast() - ROOT_HALF) >> 23


def combine_log(builder: FunctionBuilder, f: LLVMValue, k: LLVMValue) -> LLVMValue:
    """log(1 + f) + k*ln(2), with k an integer as a float."""
    square = f * f
    low = builder.fma(f * square, builder.horner(f, LOG1P_COEFFICIENTS), k * LN2_LOW)
    return builder.fma(k, LN2_HIGH, builder.fma(square, -0.5, low) + f)


def apply_domain(builder: FunctionBuilder, result: LLVMValue, x: LLVMValue, zero: float) -> LLVMValue:
    """The result with special cases: infinity and NaN are returned, -inf where x is `zero`, NaN below."""
    result = builder.select(x < math.inf, result, x)
    result = builder.select(x < zero, math.nan, result)
    return builder.select(x.eq(zero), -math.inf, result)


@vector_function
def log(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The natural logarithm, within 1.0 ulp, for subnormals too; -inf at both zeros, NaN below."""
    is_tiny = x < SMALLEST_NORMAL
    normal = builder.select(is_tiny, x * 2.0**23, x)
    k = binary_exponent(normal)
    f = (normal.bitcast() - (k << 23)).bitcast() - 1
    exponent = k.convert("sitofp", "float")
    exponent = builder.select(is_tiny, exponent - 23, exponent)
    return apply_domain(builder, combine_log(builder, f, exponent), x, 0)


def log1p_unsigned(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """log(1 + x) for -1 < x < inf, as `log1p`, but the sign of a zero result is unspecified."""
    k = binary_exponent(x + 1)
    scaled = (x.bitcast() - (k << 23)).bitcast()
    missing = builder.call_intrinsic("smax", 127 - k, builder.constant(0, k.type)) << 23
    f = scaled + (missing.bitcast() - 1)
    return combine_log(builder, f, k.convert("sitofp", "float"))


@vector_function
def log1p(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The natural logarithm of 1 + x, within 1.5 ulp; keeps the sign of zero, NaN below -1."""
    return apply_domain(builder, builder.copysign(log1p_unsigned(builder, x), x), x, -1)
