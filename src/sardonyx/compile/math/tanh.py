"""tanh, by expm1 of twice the magnitude."""

from __future__ import annotations

from sardonyx.compile.math.exponential import power_of_two, reduced
from sardonyx.compile.math.function import function
from sardonyx.compile.text import Code, Value


@function
def tanh(code: Code, x: Value) -> Value:
    """The hyperbolic tangent, within 2 ulp; odd to the bit, 1 from 9.02 on."""
    above_one, n = reduced(code, (code.absolute(x) * 2).at_most(20))
    power = power_of_two(n)
    expm1 = code.fma(above_one, power, power - 1)
    return code.with_sign(expm1 / (expm1 + 2), x)
