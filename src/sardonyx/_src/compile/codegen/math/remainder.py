"""Exact fmod and Python modulo of floats: small quotients in one step, larger ones in several.

float32 is computed in double precision, where the product of 28 bits of a quotient and the 24 bits of the divisor is
exact.  A float64 divisor is split into 26 high bits and the rest, so that products of each part with 24 bits of a
quotient are exact.
"""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue

QUOTIENT_BITS = 28  # of a step's quotient: its product with the 24 bits of b is exact in double
MAX_QUOTIENT_BITS = 280  # of any quotient of float32 numbers
# The bits of a step's quotient of float64, and of any quotient: 2^1024 / 2^-1074, rounded up to complete steps.
DOUBLE_QUOTIENT_BITS, MAX_DOUBLE_QUOTIENT_BITS = 24, 2112
LOW_BITS = 27  # the low bits of a float64 divisor


def remainder(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """a - b * (a / b rounded toward zero), floats: has the sign of a; NaN where b is 0 or a infinite."""
    if a.type.element == "double":
        return double_remainder(builder, a, b)
    dividend, divisor = (x.convert("fpext", "double") for x in (a, b))
    dividend, divisor = builder.fabs(dividend), builder.fabs(divisor)
    near = reduce_once(builder, dividend, divisor)

    def far() -> LLVMValue:
        rest = dividend
        for bits in range(MAX_QUOTIENT_BITS - QUOTIENT_BITS, -1, -QUOTIENT_BITS):
            rest = reduce_once(builder, rest, divisor * 2.0**bits)
        return rest

    is_far = (dividend >= divisor * 2.0**QUOTIENT_BITS) & (dividend < float("inf"))
    result = builder.branch_if_any(is_far, far, near).convert("fptrunc", "float")
    is_divisor_infinite = builder.fabs(b).eq(float("inf")) & (builder.fabs(a) < float("inf"))
    result = builder.select(is_divisor_infinite, a, result)
    return builder.copysign(result, a)


def double_remainder(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """`remainder` of float64."""
    dividend, divisor = builder.fabs(a), builder.fabs(b)
    near = reduce_double(builder, dividend, divisor)

    def far() -> LLVMValue:
        rest = dividend
        last = MAX_DOUBLE_QUOTIENT_BITS - DOUBLE_QUOTIENT_BITS
        for bits in range(last, -1, -DOUBLE_QUOTIENT_BITS):
            part = 2.0 ** (bits // 3)  # a third of the exponent, since 2^bits itself may exceed float64
            rest = reduce_double(builder, rest, divisor * part * part * 2.0 ** (bits - 2 * (bits // 3)))
        return rest

    is_far = (dividend >= divisor * 2.0**DOUBLE_QUOTIENT_BITS) & (dividend < math.inf)
    result = builder.branch_if_any(is_far, far, near)
    is_divisor_infinite = divisor.eq(math.inf) & (dividend < math.inf)
    return builder.copysign(builder.select(is_divisor_infinite, a, result), a)


def reduce_double(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """`reduce_once` of float64: exact if the quotient is below 2^24."""
    quotient = builder.call_intrinsic("floor", a / b)
    high = (b.bitcast() & -(1 << LOW_BITS)).bitcast()
    rest = (a - quotient * high) - quotient * (b - high)
    rest = builder.select(rest < 0, rest + b, rest)
    return builder.select(a < b, a, rest)


def reduce_once(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """a - floor(a / b)*b for a, b >= 0, exact if the quotient is below 2^28; where a < b, a itself."""
    quotient = builder.call_intrinsic("floor", a / b)
    rest = a - quotient * b
    rest = builder.select(rest < 0, rest + b, rest)  # where rounding of a / b reached the next integer
    return builder.select(a < b, a, rest)


def floor_remainder(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """a - b * floor(a / b) of floats: has the sign of b."""
    result = remainder(builder, a, b)
    has_other_sign = result.ne(0) & ((result < 0) ^ (b < 0))
    result = builder.select(has_other_sign, result + b, result)
    return builder.select(result.eq(0), builder.copysign(result, b), result)
