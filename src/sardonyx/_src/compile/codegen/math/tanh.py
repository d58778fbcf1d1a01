"""tanh: an odd polynomial for small |x|, and 1 - 2 / (exp(2*|x|) + 1) above."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import expm1_reduced, power_of_two
from sardonyx._src.compile.codegen.math.function import vector_function

POLYNOMIAL_LIMIT = 0.5625
# tanh(x) = x + x*s*P(s), s = x*x, for |x| <= POLYNOMIAL_LIMIT; the error is 2^-29.4 of it.
TANH_COEFFICIENTS = (-0.33333313, 0.13332437, -0.053835757, 0.021000547, -0.0061702398)


@vector_function
def tanh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The hyperbolic tangent, within 1.5 ulp; odd to the bit, 1 from 9.02 on."""
    magnitude = builder.fabs(x)
    square = x * x
    near = builder.fma(magnitude * square, builder.horner(square, TANH_COEFFICIENTS), magnitude)
    fraction, n = expm1_reduced(builder, magnitude.clamp_max(10) * 2)
    power = power_of_two(n)
    far = 1 - 2 / builder.fma(fraction, power, power + 1)
    return builder.copysign(builder.select(magnitude < POLYNOMIAL_LIMIT, near, far), x)
