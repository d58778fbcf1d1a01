"""pow, by the logarithm to base 2 and exp2, both in double precision.

The exponent multiplies the error of the logarithm, so that single precision would need pairs of floats; doubles take
fewer instructions.
"""

from __future__ import annotations

import math

from sardonyx._src.compile.math.double import exp2, log2
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value


@function
def pow(code: Code, x: Value, y: Value) -> Value:
    """x to the power y, within 0.6 ulp; for signs, zeros, infinities and NaN as C's `pow` (C17, F.10.4.4).

    1 where y is 0 or x is 1; NaN where x < 0 is finite and y no integer; negative where x is and y is odd.
    """
    magnitude = code.absolute(x)
    exponent = y.converted("fpext", "double") * log2(code, magnitude)
    result = exp2(code, exponent.at_most(130).at_least(-160)).converted("fptrunc", "float")
    result = signed(code, result, x, y)
    is_one = magnitude.equals(1) & code.absolute(y).equals(math.inf)
    return code.select(x.equals(1) | y.equals(0) | is_one, 1, result)


def signed(code: Code, result: Value, x: Value, y: Value) -> Value:
    """The power of |x| with the sign, or the NaN, that the power of x has."""
    half = y * 0.5
    is_whole = y.equals(code.intrinsic("roundeven", y))
    is_odd = is_whole & half.differs(code.intrinsic("roundeven", half))
    sign = code.select(is_odd, x, code.constant(1, x.kind))
    has_none = (x < 0) & (x > -math.inf) & (is_whole ^ 1)
    return code.select(has_none, math.nan, code.with_sign(result, sign))
