"""Exact fmod and Python modulo of floats, in double precision: quotients below 2^28 in one step, others in a loop."""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import FunctionBuilder, LLVMValue

QUOTIENT_BITS = 28  # of a partial quotient: its product with the 24 bits of b is exact in double
MAX_QUOTIENT_BITS = 280  # of a quotient of floats


def remainder(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """a - b * (a / b rounded toward zero), floats: has the sign of a; NaN where b is 0 or a infinite."""
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
