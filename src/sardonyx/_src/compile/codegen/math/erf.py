"""erf: a polynomial for |x| < 1, and 1 - exp of a polynomial above."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import expm1_reduced, power_of_two
from sardonyx._src.compile.codegen.math.function import vector_function

# erf(x) = x + x*P(x*x) for |x| <= 1; the error is 2^-29.4 of it.
ERF_COEFFICIENTS = (
    0.12837917,
    -0.37612626,
    0.11283579,
    -0.026853347,
    0.005187162,
    -0.0007997853,
    7.806903e-05,
)
# erf(x) = 1 - exp(Q(x)) for 1 <= x <= 3.95; the error is 2^-29.7.
LOG_ERFC_COEFFICIENTS = (
    -0.00034154434,
    -1.1270891,
    -0.63814485,
    -0.10310678,
    0.021838091,
    -0.002947667,
    0.00018638006,
)


@vector_function
def erf(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The error function, within 1.4 ulp; odd to the bit, 1 from 3.92 on."""
    magnitude = builder.fabs(x)
    square = x * x
    near = builder.fma(magnitude, builder.horner(square, ERF_COEFFICIENTS), magnitude)
    fraction, n = expm1_reduced(builder, builder.horner(magnitude.clamp_max(3.95), LOG_ERFC_COEFFICIENTS))
    power = power_of_two(n)
    far = (1 - power) - fraction * power
    return builder.copysign(builder.select(magnitude < 1, near, far), x)
