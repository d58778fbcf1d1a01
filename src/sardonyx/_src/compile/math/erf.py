"""erf, by a polynomial around zero, and as one less the exponential of another beyond."""

from __future__ import annotations

from sardonyx._src.compile.math.exponential import power_of_two, reduced
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value

# erf(x) = x + x*NEAR(x*x) for |x| <= 1; the error is 2^-29.4 of it.
NEAR = (0.12837917, -0.37612626, 0.11283579, -0.026853347, 0.005187162, -0.0007997853, 7.806903e-05)
# erf(x) = 1 - exp(FAR(x)) for 1 <= x <= 3.95; the error is 2^-29.7.
FAR = (-0.00034154434, -1.1270891, -0.63814485, -0.10310678, 0.021838091, -0.002947667, 0.00018638006)


@function
def erf(code: Code, x: Value) -> Value:
    """The error function, within 1.4 ulp; odd to the bit, 1 from 3.92 on."""
    magnitude = code.absolute(x)
    square = x * x
    near = code.fma(magnitude, code.polynomial(square, NEAR), magnitude)
    above_one, n = reduced(code, code.polynomial(magnitude.at_most(3.95), FAR))
    power = power_of_two(n)
    far = (1 - power) - above_one * power
    return code.with_sign(code.select(magnitude < 1, near, far), x)
