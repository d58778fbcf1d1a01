"""exp, exp2 and expm1: Cody and Waite range reduction to |r| <= ln(2)/2, then a polynomial and a power of two."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.function import vector_function

LN_2 = 0.6931471805599453
LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693145751953125  # 16 bits: its product with n is exact
LN2_LOW = 1.42860682030941723e-06
ROUNDER = 12582912.0  # 1.5 * 2^23: adding it rounds to an integer, which is then in the low bits of the sum
# exp(r) = 1 + r + r*r*P(r) for |r| <= ln(2)/2; the error is 2^-28 of exp(r) - 1.
EXPM1_COEFFICIENTS = (0.5, 0.16666636, 0.04166651, 0.008341509, 0.001393053, 0.00015042655)


def split_rounded(builder: FunctionBuilder, shifted: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """The rounded integer of x, as a float and as an int32, given x + ROUNDER; undefined for NaN."""
    bits = builder.constant(ROUNDER, shifted.type).bitcast()
    return shifted - ROUNDER, shifted.bitcast() - bits


def power_of_two(n: LLVMValue) -> LLVMValue:
    """2^n as float32, for integers -126 <= n <= 127."""
    return ((n + 127) << 23).bitcast()


def split_exponent(n: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """Two integers with sum n: scaling by their powers one after the other rounds a subnormal result only once."""
    low = n >> 1
    return low, n - low


def expm1_reduced(builder: FunctionBuilder, x: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """(exp(r) - 1, n) with x = n*ln(2) + r and |r| <= ln(2)/2, for |x| < 2^21; n is an integer."""
    rounded, n = split_rounded(builder, builder.fma(x, LOG2_E, ROUNDER))
    r = builder.fma(rounded, -LN2_HIGH, x)
    return expm1_polynomial(builder, builder.fma(rounded, -LN2_LOW, r)), n


def expm1_polynomial(builder: FunctionBuilder, r: LLVMValue) -> LLVMValue:
    """exp(r) - 1 for |r| <= ln(2)/2."""
    return builder.fma(r * r, builder.horner(r, EXPM1_COEFFICIENTS), r)


@vector_function
def exp(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """e to the power x, within 1.0 ulp; subnormal results too."""
    fraction, n = expm1_reduced(builder, x.clamp_max(89).clamp_min(-104))
    low, high = split_exponent(n)
    return (fraction + 1) * power_of_two(low) * power_of_two(high)


@vector_function
def exp2(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """2 to the power x, within 1.0 ulp; subnormal results too."""
    x = x.clamp_max(129).clamp_min(-151)
    rounded, n = split_rounded(builder, x + ROUNDER)
    low, high = split_exponent(n)
    return (expm1_polynomial(builder, (x - rounded) * LN_2) + 1) * power_of_two(low) * power_of_two(high)


@vector_function
def expm1(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """e to the power x, minus 1, within 1.5 ulp; keeps the sign of zero."""
    fraction, n = expm1_reduced(builder, x.clamp_max(89).clamp_min(-18))
    low, high = split_exponent(n)
    power = power_of_two(low)
    scaled = builder.fma(fraction, power, power - power_of_two(-high))
    return builder.copysign(scaled * power_of_two(high), x)
