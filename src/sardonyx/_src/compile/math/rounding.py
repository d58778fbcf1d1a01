"""Floats to whole floats; zero keeps its sign."""

from __future__ import annotations

from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value


@function
def round_half_even(code: Code, x: Value) -> Value:
    """The nearest integer, the even one of two; exact."""
    return code.intrinsic("roundeven", x)


@function
def floor(code: Code, x: Value) -> Value:
    """The greatest integer that is not above x; exact."""
    return code.intrinsic("floor", x)


@function
def ceil(code: Code, x: Value) -> Value:
    """The least integer that is not below x; exact."""
    return code.intrinsic("ceil", x)
