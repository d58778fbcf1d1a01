"""exp, expm1, tanh, sigmoid and softplus in double precision, within a few ulp, emitted in place.

Range reduction is that of the functions of float32; the polynomials are Taylor series, of which the first term that is
left out is below 2^-56 of the result.
"""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen.builder import FunctionBuilder, LLVMValue

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # 33 bits: its product with n is exact
LN2_LOW = 1.90821492927058770002e-10
ROUNDER = (
    6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, which is then in the low bits of the sum
)
BIASED = ROUNDER + 1023  # its low bits are the biased exponent of 1
HIGHEST, LOWEST = 709.0, -708.0  # of arguments of exp with finite, normal results
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
    """e to the power x; x is clamped to the range of finite, normal results."""
    fraction, power = expm1_reduced(builder, x.clamp_max(HIGHEST).clamp_min(LOWEST))
    return builder.fma(fraction, power, power)


def expm1(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """e to the power x, minus 1; x is clamped to the range of finite results."""
    fraction, power = expm1_reduced(builder, x.clamp_max(HIGHEST).clamp_min(-40))
    return builder.fma(fraction, power, power - 1)


def sigmoid(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    return 1 / (1 + exp(builder, -x))


def tanh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """exp(2|x|) - 1 over exp(2|x|) + 1, with the sign of x; 1 from 20 on."""
    e = expm1(builder, builder.fabs(x).clamp_max(20) * 2)
    return builder.copysign(e / (e + 2), x)


def softplus(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """max(x, 0) + log(1 + u) with u = exp(-|x|); the logarithm is twice the area tangent of u / (2 + u), at most 1/3."""
    u = exp(builder, -builder.fabs(x))
    s = u / (u + 2)
    square = s * s
    tail = builder.horner(square, ATANH_COEFFICIENTS)
    return x.clamp_min(0) + builder.fma(square * tail, s, s) * 2
