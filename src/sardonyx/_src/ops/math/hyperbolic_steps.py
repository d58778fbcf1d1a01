"""Hyperbolic functions decomposed for operator sets before 9.

They are computed in double, so that the error of the formulas is lost when the result is rounded to float.  An input of
double is refused, since it would need a wider type still.  Zeros keep their sign, and NaN stays NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ops.api import ConvertFacet
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

# Above the magnitude of every finite float, and its reciprocal is below that of every float but 0: clamping to it changes
# only infinities, of which a difference or quotient would be NaN.
CLAMP_LIMIT = 1e300


def number(adapter: Adapter, value: float) -> Value:
    return adapter.constant(value, DataType.DOUBLE)


def decompose_in_double(function: Callable[[Adapter, Value], Value]) -> ConvertFacet:
    """The facet that computes `function` in double; it refuses an input of double."""

    def convert(adapter: Adapter) -> AdaptedNode:
        own = adapter.dtype(0)
        if own is DataType.DOUBLE:
            adapter.refuse("the result for double takes a wider float type")
        return cast(adapter, function(adapter, cast(adapter, adapter.input(0), DataType.DOUBLE)), own)

    return convert


def cosh(adapter: Adapter, x: Value) -> Value:
    return adapter.Mul(adapter.Add(adapter.Exp(x), adapter.Exp(adapter.Neg(x))), number(adapter, 0.5))


def sinh(adapter: Adapter, x: Value) -> Value:
    """tanh(x) cosh(x): unlike exp(x) - exp(-x), this loses no digits where x is small."""
    return adapter.Mul(adapter.Tanh(x), cosh(adapter, x))


def atanh(adapter: Adapter, x: Value) -> Value:
    a = adapter.Abs(x)
    doubled = adapter.Sub(log1p(adapter, a), log1p(adapter, adapter.Neg(a)))
    return adapter.Mul(adapter.Mul(doubled, number(adapter, 0.5)), sign(adapter, x, a))


def acosh(adapter: Adapter, x: Value) -> Value:
    """log(1 + u + sqrt(u (u + 2))) with u = x - 1."""
    u = adapter.Sub(x, number(adapter, 1))
    return log1p(adapter, adapter.Add(u, adapter.Sqrt(adapter.Mul(u, adapter.Add(u, number(adapter, 2))))))


def asinh(adapter: Adapter, x: Value) -> Value:
    """log(1 + a + a^2 / (1 + sqrt(1 + a^2))) with a = |x|, and the sign of x."""
    size, unit = adapter.Abs(x), number(adapter, 1)
    a = adapter.Min(size, number(adapter, 1e100))  # the square of 1e100 does not overflow
    square = adapter.Mul(a, a)
    u = adapter.Add(size, adapter.Div(square, adapter.Add(unit, adapter.Sqrt(adapter.Add(unit, square)))))
    return adapter.Mul(log1p(adapter, u), sign(adapter, x, size))


def sign(adapter: Adapter, x: Value, size: Value) -> Value:
    """1 or -1 with the sign of x, where size = |x|; a zero x, with its sign, for zeros."""
    return adapter.Div(clamp(adapter, x), adapter.Max(clamp(adapter, size), number(adapter, 1 / CLAMP_LIMIT)))


def log1p(adapter: Adapter, u: Value) -> Value:
    """log(1 + u), corrected by the rounding error of 1 + u divided by 1 + u, so that small u lose no digits."""
    unit = number(adapter, 1)
    near = clamp(adapter, u)
    total = adapter.Add(near, unit)
    lost = adapter.Div(
        adapter.Sub(adapter.Sub(total, unit), near), adapter.Max(total, number(adapter, 1 / CLAMP_LIMIT))
    )
    return adapter.Sub(adapter.Log(adapter.Add(u, unit)), lost)


def clamp(adapter: Adapter, x: Value) -> Value:
    return adapter.Max(adapter.Min(x, number(adapter, CLAMP_LIMIT)), number(adapter, -CLAMP_LIMIT))


HYPERBOLIC_FUNCTIONS = {"Cosh": cosh, "Sinh": sinh, "Atanh": atanh, "Acosh": acosh, "Asinh": asinh}
