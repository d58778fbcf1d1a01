"""asinh, acosh and atanh as logarithms in double precision; near zero, the first terms of their series."""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math import double_precision
from sardonyx._src.compile.codegen.math.function import vector_function

SERIES_LIMIT = 2.0**-10  # below which x + c*x^3 is exact in float32, and the logarithm cancels


@vector_function
def asinh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The inverse hyperbolic sine, within 0.6 ulp; odd to the bit."""
    w = builder.fabs(x).convert("fpext", "double")
    logarithm = double_precision.log(builder, w + builder.call_intrinsic("sqrt", builder.fma(w, w, 1)))
    far = builder.select(w < math.inf, logarithm, w)
    return builder.copysign(with_series(builder, far, w, -1 / 6), x)


@vector_function
def acosh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The inverse hyperbolic cosine, within 0.6 ulp; NaN below 1."""
    w = x.convert("fpext", "double")
    logarithm = double_precision.log(builder, w + builder.call_intrinsic("sqrt", (w - 1) * (w + 1)))
    result = builder.select(w < math.inf, logarithm, w)
    return builder.select(w < 1, math.nan, result).convert("fptrunc", "float")


@vector_function
def atanh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The inverse hyperbolic tangent, within 0.6 ulp; odd to the bit, infinite at 1, NaN beyond."""
    w = builder.fabs(x).convert("fpext", "double")
    logarithm = double_precision.log(builder, (w + 1) / (1 - w)) * 0.5
    outside = builder.select(w.eq(1), math.inf, builder.constant(math.nan, w.type))
    far = builder.select(w < 1, logarithm, outside)
    return builder.copysign(with_series(builder, far, w, 1 / 3), x)


def with_series(builder: FunctionBuilder, far: LLVMValue, w: LLVMValue, cubic: float) -> LLVMValue:
    """`far`, or w + cubic*w^3 where w is small, as float32."""
    near = builder.fma(w * w * w, cubic, w)
    return builder.select(w < SERIES_LIMIT, near, far).convert("fptrunc", "float")
