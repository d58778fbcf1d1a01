"""sqrt, and quotients by it."""

from __future__ import annotations

from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value


@function
def sqrt(code: Code, x: Value) -> Value:
    """The square root, correctly rounded."""
    return code.intrinsic("sqrt", x)


@function
def rsqrt(code: Code, x: Value) -> Value:
    """1 / sqrt(x), within 1.5 ulp; infinite at zero, with its sign."""
    return 1 / code.intrinsic("sqrt", x)


@function
def reciprocal(code: Code, x: Value) -> Value:
    """1 / x, correctly rounded."""
    return 1 / x
