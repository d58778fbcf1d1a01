"""sinh and cosh: sums of half exponentials; sinh of small arguments is an odd polynomial."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import expm1_reduced, power_of_two, split_exponent
from sardonyx._src.compile.codegen.math.function import vector_function

OVERFLOW = 91.0  # of arguments: the results are infinite
# sinh(x) = x + x*s*P(s), s = x*x, for |x| < 1; the error is 2^-27.5 of it.
SINH_COEFFICIENTS = (0.16666667, 0.00833335, 0.0001983616, 2.8169513e-06)


@vector_function
def sinh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The hyperbolic sine, within 1.8 ulp; odd to the bit."""
    magnitude = builder.fabs(x)
    square = x * x
    near = builder.fma(magnitude * square, builder.horner(square, SINH_COEFFICIENTS), magnitude)
    half = half_exp(builder, magnitude)
    return builder.copysign(builder.select(magnitude < 1, near, half - 0.25 / half), x)


@vector_function
def cosh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The hyperbolic cosine, within 1.8 ulp; even to the bit."""
    half = half_exp(builder, builder.fabs(x))
    return half + 0.25 / half


def half_exp(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """exp(x) / 2 for x >= 0; finite as long as it is a float, though exp(x) is none."""
    fraction, n = expm1_reduced(builder, x.clamp_max(OVERFLOW))
    low, high = split_exponent(n - 1)
    return (fraction + 1) * power_of_two(low) * power_of_two(high)
