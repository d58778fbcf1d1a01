"""elu, celu and selu: the identity above zero, a scaled expm1 below."""

from __future__ import annotations

from sardonyx._src.compile.math.exponential import expm1
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value


@function
def elu(code: Code, x: Value, alpha: Value) -> Value:
    """x above zero, alpha * expm1(x) below: within 3.5 ulp for any alpha."""
    return code.select(x > 0, x, alpha * expm1.body(code, x))


@function
def celu(code: Code, x: Value, alpha: Value) -> Value:
    """x above zero, alpha * expm1(x / alpha) below: within 3.5 ulp of that of the rounded quotient."""
    return code.select(x > 0, x, alpha * expm1.body(code, x / alpha))


@function
def selu(code: Code, x: Value, alpha: Value, gamma: Value) -> Value:
    """gamma * x above zero, gamma * alpha * expm1(x) below: within 5 ulp for any alpha and gamma."""
    return gamma * elu.body(code, x, alpha)
