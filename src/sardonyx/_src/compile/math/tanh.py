"""tanh, by a polynomial around zero, and by the exponential of twice the magnitude beyond."""

from __future__ import annotations

from sardonyx._src.compile.math.exponential import power_of_two, reduced
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value

EDGE = 0.5625
# tanh(x) = x + x*s*NEAR(s), s = x*x, for |x| <= EDGE; the error is 2^-29.4 of it.
NEAR = (-0.33333313, 0.13332437, -0.053835757, 0.021000547, -0.0061702398)


@function
def tanh(code: Code, x: Value) -> Value:
    """The hyperbolic tangent, within 1.5 ulp; odd to the bit, 1 from 9.02 on."""
    magnitude = code.absolute(x)
    square = x * x
    near = code.fma(magnitude * square, code.polynomial(square, NEAR), magnitude)
    above_one, n = reduced(code, magnitude.at_most(10) * 2)
    power = power_of_two(n)
    far = 1 - 2 / code.fma(above_one, power, power + 1)
    return code.with_sign(code.select(magnitude < EDGE, near, far), x)
