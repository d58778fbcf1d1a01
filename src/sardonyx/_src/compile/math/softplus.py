"""softplus, by the logarithm of 1 and more."""

from __future__ import annotations

from sardonyx._src.compile.math.exponential import exp
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.math.logarithm import log1p_of
from sardonyx._src.compile.text import Code, Value


@function
def softplus(code: Code, x: Value) -> Value:
    """log(1 + exp(x)), within 2 ulp; denormal results too."""
    small = exp.body(code, -code.absolute(x))
    return log1p_of(code, small) + x.at_least(0)
