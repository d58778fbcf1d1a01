"""mish: x * tanh(softplus(x)), computed in double precision."""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.double_precision import LOG2_E, exp2
from sardonyx._src.compile.codegen.math.function import vector_function


@vector_function
def mish(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """x * tanh(softplus(x)), within 0.6 ulp; subnormal results too.  NaN of -inf, as the product is.

    With w = exp(x) and v = w*(w + 2), tanh(softplus(x)) = v / (v + 2).
    """
    wide = x.clamp_min(-112).convert("fpext", "double")
    w = exp2(builder, wide.clamp_max(100) * LOG2_E)
    v = w * (w + 2)
    result = (wide * v / (v + 2)).convert("fptrunc", "float")
    return builder.select(x.eq(-math.inf), math.nan, result)
