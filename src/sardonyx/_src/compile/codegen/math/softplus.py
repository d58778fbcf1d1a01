"""softplus: log1p(exp(-|x|)) + max(x, 0)."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import exp
from sardonyx._src.compile.codegen.math.function import vector_function
from sardonyx._src.compile.codegen.math.logarithm import log1p_unsigned


@vector_function
def softplus(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """log(1 + exp(x)), within 2 ulp; subnormal results too."""
    small = exp.body(builder, -builder.fabs(x))
    return log1p_unsigned(builder, small) + x.clamp_min(0)
