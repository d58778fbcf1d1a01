"""Hyperbolic functions before version 9, computed in double, so that what is rounded to float is as near as before.

Doubles themselves would need a wider type still.  Zeros keep their sign, and NaN stays NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.api import ConvertFacet
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.widening import cast

FAR = 1e300  # beyond every float, and its inverse below every other


def number(c: Change, value: float) -> Value:
    return c.constant(value, DataType.DOUBLE)


def in_double(function: Callable[[Change, Value], Value]) -> ConvertFacet:
    """The facet of a function of doubles."""

    def convert(c: Change) -> Converted:
        own = c.dtype(0)
        if own is DataType.DOUBLE:
            c.refuse("double would have to be computed in a wider float type")
        return cast(c, function(c, cast(c, c.input(0), DataType.DOUBLE)), own)

    return convert


def cosh(c: Change, x: Value) -> Value:
    return c.Mul(c.Add(c.Exp(x), c.Exp(c.Neg(x))), number(c, 0.5))


def sinh(c: Change, x: Value) -> Value:
    """tanh(x) cosh(x), of which each is exact where x is small."""
    return c.Mul(c.Tanh(x), cosh(c, x))


def atanh(c: Change, x: Value) -> Value:
    a = c.Abs(x)
    doubled = c.Sub(log_of_1_and(c, a), log_of_1_and(c, c.Neg(a)))
    return c.Mul(c.Mul(doubled, number(c, 0.5)), sign(c, x, a))


def acosh(c: Change, x: Value) -> Value:
    """log(1 + u + sqrt(u (u + 2))) with u = x - 1."""
    u = c.Sub(x, number(c, 1))
    return log_of_1_and(c, c.Add(u, c.Sqrt(c.Mul(u, c.Add(u, number(c, 2))))))


def asinh(c: Change, x: Value) -> Value:
    """log(1 + a + a^2 / (1 + sqrt(1 + a^2))) with a = |x|, and the sign of x."""
    size, one = c.Abs(x), number(c, 1)
    a = c.Min(size, number(c, 1e100))  # whose square is a double
    square = c.Mul(a, a)
    u = c.Add(size, c.Div(square, c.Add(one, c.Sqrt(c.Add(one, square)))))
    return c.Mul(log_of_1_and(c, u), sign(c, x, size))


def sign(c: Change, x: Value, size: Value) -> Value:
    """1 or -1, and zeros as they are."""
    return c.Div(bounded(c, x), c.Max(bounded(c, size), number(c, 1 / FAR)))


def log_of_1_and(c: Change, u: Value) -> Value:
    """log(1 + u), less what 1 + u was rounded by."""
    one = number(c, 1)
    near = bounded(c, u)
    total = c.Add(near, one)
    lost = c.Div(c.Sub(c.Sub(total, one), near), c.Max(total, number(c, 1 / FAR)))
    return c.Sub(c.Log(c.Add(u, one)), lost)


def bounded(c: Change, x: Value) -> Value:
    return c.Max(c.Min(x, number(c, FAR)), number(c, -FAR))


STEPS = {"Cosh": cosh, "Sinh": sinh, "Atanh": atanh, "Acosh": acosh, "Asinh": asinh}
