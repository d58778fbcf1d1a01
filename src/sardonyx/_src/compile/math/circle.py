"""sin and cos, reduced to an eighth of a turn in double precision; from 2^23 on by a table of 2/pi."""

from __future__ import annotations

import math

from sardonyx._src.compile.math.double import ROUNDER
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value

LARGE = 2.0**23
HALF_PI = 1.5707963267948966
HALF_PI_HIGH = 1.570796325802803  # 29 bits: its product with a count of quarters is exact
HALF_PI_LOW = 9.920935796805404e-10
BITS = 240
TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBB  # times 2^-240
# sin(r) = r + r*s*SIN(s) and cos(r) = 1 - s/2 + s*s*COS(s), s = r*r, |r| <= pi/4; errors 2^-27.9 and 2^-33.
SIN = (-0.16666655, 0.008332189, -0.00019518286)
COS = (0.041666646, -0.001388731, 2.4432327e-05)


def parts() -> tuple[tuple[float, ...], ...]:
    """High, middle and low parts of 2/pi modulo 4 times each power of two that a float's last bit has from 1 on."""
    rows = []
    for power in range(255 - (127 + 23)):
        fraction = (TWO_OVER_PI << power) % (4 << BITS)
        high = fraction >> (BITS - 26) << (BITS - 26)
        middle = (fraction - high) >> (BITS - 54) << (BITS - 54)
        rows.append(tuple(v / (1 << BITS) for v in (high, middle, fraction - high - middle)))
    rows.append((math.nan,) * 3)  # of infinities
    return tuple(zip(*rows, strict=True))


PARTS = parts()


@function
def sin(code: Code, x: Value) -> Value:
    """The sine of radians, within 1.6 ulp for all floats; NaN of infinities, zero keeps its sign."""
    return code.select(x.equals(0), x, turned(code, x, 0))


@function
def cos(code: Code, x: Value) -> Value:
    """The cosine of radians, within 1.6 ulp for all floats; NaN of infinities."""
    return turned(code, x, 1)


def turned(code: Code, x: Value, quarters: int) -> Value:
    """sin(x + quarters * pi/2)."""
    usual = wave(code, *reduced(code, x), quarters)
    is_large = code.absolute(x) >= LARGE

    def rare() -> Value:
        return code.select(is_large, wave(code, *reduced_by_table(code, x), quarters), usual)

    return code.if_any(is_large, rare, usual)


def wave(code: Code, r: Value, quarter: Value, more: int) -> Value:
    """sin(r + (quarter + more) * pi/2), |r| <= pi/4."""
    s = r * r
    sine = code.fma(r * s, code.polynomial(s, SIN), r)
    cosine = code.fma(s * s, code.polynomial(s, COS), code.fma(s, -0.5, 1))
    quarter = quarter + more
    result = code.select((quarter & 1).equals(0), sine, cosine)
    return (result.bits() ^ ((quarter & 2) << 30)).bits()


def reduced(code: Code, x: Value) -> tuple[Value, Value]:
    """(r, n) with x = n*pi/2 + r, |r| <= pi/4, for |x| < LARGE; r is rounded once, n is an integer."""
    wide = x.converted("fpext", "double")
    lifted = code.fma(wide, 1 / HALF_PI, ROUNDER)
    count = lifted - ROUNDER
    r = code.fma(count, -HALF_PI_LOW, code.fma(count, -HALF_PI_HIGH, wide))
    return r.converted("fptrunc", "float"), lifted.bits().converted("trunc", "i32")


def reduced_by_table(code: Code, x: Value) -> tuple[Value, Value]:
    """The same, with n modulo 4, for |x| >= LARGE.

    x is an integer m of 24 bits times a power of two.  The table has that power times 2/pi, less multiples of 4, in
    three parts of which the first two times m are exact.
    """
    bits = x.bits()
    row = ((bits >> 23) & 255) - (127 + 23)
    row = code.intrinsic("smax", row, code.constant(0, row.kind))
    m = ((bits & 0x7FFFFF) | 0x800000).converted("sitofp", "double")
    m = code.with_sign(m, x.converted("fpext", "double"))
    high, middle, low = (code.looked_up(f"@sx_quarters_{i}", part, row) for i, part in enumerate(PARTS))
    first = m * high
    whole = first + ROUNDER
    rest = (first - (whole - ROUNDER)) + m * middle
    rest = code.fma(m, low, rest)
    more = rest + ROUNDER
    quarter = (whole.bits() + more.bits()).converted("trunc", "i32")
    return ((rest - (more - ROUNDER)) * HALF_PI).converted("fptrunc", "float"), quarter
