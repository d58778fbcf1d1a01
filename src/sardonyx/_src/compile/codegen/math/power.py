"""pow: exp2(y * log2(x)) in double precision.

The exponent multiplies the error of the logarithm.  In single precision that needs pairs of floats, which take more
instructions than doubles.
"""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.double_precision import exp2, log2
from sardonyx._src.compile.codegen.math.function import vector_function


@vector_function
def pow(builder: FunctionBuilder, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """x to the power y, within 0.6 ulp; for signs, zeros, infinities and NaN as C's `pow` (C17, F.10.4.4).

    1 where y is 0 or x is 1; NaN where x < 0 is finite and y no integer; negative where x is and y is odd.
    """
    magnitude = builder.fabs(x)
    exponent = y.convert("fpext", "double") * log2(builder, magnitude)
    result = exp2(builder, exponent.clamp_max(130).clamp_min(-160)).convert("fptrunc", "float")
    result = apply_sign(builder, result, x, y)
    is_one = magnitude.eq(1) & builder.fabs(y).eq(math.inf)
    return builder.select(x.eq(1) | y.eq(0) | is_one, 1, result)


def apply_sign(builder: FunctionBuilder, result: LLVMValue, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """The power of |x| with the sign, or the NaN, that the power of x has."""
    half = y * 0.5
    is_integer = y.eq(builder.call_intrinsic("roundeven", y))
    is_odd = is_integer & half.ne(builder.call_intrinsic("roundeven", half))
    sign = builder.select(is_odd, x, builder.constant(1, x.type))
    is_nan = (x < 0) & (x > -math.inf) & (is_integer ^ 1)
    return builder.select(is_nan, math.nan, builder.copysign(result, sign))
