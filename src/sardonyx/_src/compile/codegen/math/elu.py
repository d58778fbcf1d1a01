"""elu, celu and selu: the identity above zero, a scaled expm1 below."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import expm1
from sardonyx._src.compile.codegen.math.function import vector_function


@vector_function
def elu(builder: FunctionBuilder, x: LLVMValue, alpha: LLVMValue) -> LLVMValue:
    """x above zero, alpha * expm1(x) below: within 3.5 ulp for any alpha."""
    return builder.select(x > 0, x, alpha * expm1.body(builder, x))


@vector_function
def celu(builder: FunctionBuilder, x: LLVMValue, alpha: LLVMValue) -> LLVMValue:
    """x above zero, alpha * expm1(x / alpha) below: within 3.5 ulp of that of the rounded quotient."""
    return builder.select(x > 0, x, alpha * expm1.body(builder, x / alpha))


@vector_function
def selu(builder: FunctionBuilder, x: LLVMValue, alpha: LLVMValue, gamma: LLVMValue) -> LLVMValue:
    """gamma * x above zero, gamma * alpha * expm1(x) below: within 5 ulp for any alpha and gamma."""
    return gamma * elu.body(builder, x, alpha)
