"""log and log1p, by the octave and a polynomial around 1."""

from __future__ import annotations

import math

from sardonyx._src.compile.math.exponential import LN2_HIGH, LN2_LOW
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value

ROOT_HALF = 0x3F3504F3  # the bits of sqrt(1/2), where octaves begin
SMALLEST_NORMAL = 2.0**-126
# log(1 + f) = f - f*f/2 + f*f*f*REST(f) from sqrt(1/2) to sqrt(2); the error is 2^-27.6 of it.
REST = (
    0.33333313,
    -0.25000167,
    0.20002224,
    -0.16659367,
    0.14209771,
    -0.12548919,
    0.12100424,
    -0.10913632,
    0.05366912,
)


def octave(x: Value) -> Value:
    """The integer k with x * 2^-k from sqrt(1/2) to sqrt(2), of a normal x > 0."""
    return (x.bits() - ROOT_HALF) >> 23


def joined(code: Code, f: Value, k: Value) -> Value:
    """log(1 + f) + k*ln(2), with k a whole float."""
    square = f * f
    rest = code.fma(f * square, code.polynomial(f, REST), k * LN2_LOW)
    return code.fma(k, LN2_HIGH, code.fma(square, -0.5, rest) + f)


def limits(code: Code, result: Value, x: Value, zero: float) -> Value:
    """The result, but infinity and NaN as they are, -inf where x is `zero`, and NaN below."""
    result = code.select(x < math.inf, result, x)
    result = code.select(x < zero, math.nan, result)
    return code.select(x.equals(zero), -math.inf, result)


@function
def log(code: Code, x: Value) -> Value:
    """The natural logarithm, within 1.0 ulp, also of denormals; -inf of both zeros, NaN of what is below."""
    is_tiny = x < SMALLEST_NORMAL
    normal = code.select(is_tiny, x * 2.0**23, x)
    k = octave(normal)
    f = (normal.bits() - (k << 23)).bits() - 1
    count = k.converted("sitofp", "float")
    count = code.select(is_tiny, count - 23, count)
    return limits(code, joined(code, f, count), x, 0)


def log1p_of(code: Code, x: Value) -> Value:
    """log(1 + x) for -1 < x < inf, as `log1p`, but of no sure sign at zero."""
    k = octave(x + 1)
    scaled = (x.bits() - (k << 23)).bits()
    missing = code.intrinsic("smax", 127 - k, code.constant(0, k.kind)) << 23
    f = scaled + (missing.bits() - 1)
    return joined(code, f, k.converted("sitofp", "float"))


@function
def log1p(code: Code, x: Value) -> Value:
    """The natural logarithm of 1 + x, within 1.5 ulp; keeps the sign of zero, NaN below -1."""
    return limits(code, code.with_sign(log1p_of(code, x), x), x, -1)
