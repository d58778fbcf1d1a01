"""sin, cos and tan: range reduction to |r| <= pi/4 in double precision, then a polynomial by quadrant.

Arguments below 2^23 are reduced by the method of Cody and Waite, larger ones by that of Payne and Hanek, with
a table of 2/pi.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.double_precision import ROUNDER
from sardonyx._src.compile.codegen.math.function import vector_function

LARGE_ARGUMENT = 2.0**23
HALF_PI = 1.5707963267948966
HALF_PI_HIGH = 1.570796325802803  # 29 bits: its product with a number of quadrants is exact
HALF_PI_LOW = 9.920935796805404e-10
TWO_OVER_PI_BITS = 240
TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBB  # times 2^-240
# sin(r) = r + r*s*P(s) and cos(r) = 1 - s/2 + s*s*Q(s), s = r*r, |r| <= pi/4; errors 2^-27.9 and 2^-33.
SIN_COEFFICIENTS = (-0.16666655, 0.008332189, -0.00019518286)
COS_COEFFICIENTS = (0.041666646, -0.001388731, 2.4432327e-05)

# tan(r) = r + r*s*P(s), s = r*r, |r| <= pi/4, in double precision; the error is 2^-29.6 of it.
TAN_COEFFICIENTS = (
    0.33333349756719954,
    0.13332663285856644,
    0.054059921576876516,
    0.021282164727685134,
    0.010835862609765977,
    8.948455186160429e-05,
    0.0043762949885996355,
)


def two_over_pi_parts() -> tuple[tuple[float, ...], ...]:
    """2^k * (2/pi) modulo 4 as high, middle and low parts, [3, powers], for each k >= 0 of a float's lowest bit."""
    rows = []
    for power in range(255 - (127 + 23)):
        fraction = (TWO_OVER_PI << power) % (4 << TWO_OVER_PI_BITS)
        high = fraction >> (TWO_OVER_PI_BITS - 26) << (TWO_OVER_PI_BITS - 26)
        middle = (fraction - high) >> (TWO_OVER_PI_BITS - 54) << (TWO_OVER_PI_BITS - 54)
        rows.append(tuple(v / (1 << TWO_OVER_PI_BITS) for v in (high, middle, fraction - high - middle)))
    rows.append((math.nan,) * 3)  # infinities
    return tuple(zip(*rows, strict=True))


TWO_OVER_PI_PARTS = two_over_pi_parts()


@vector_function
def sin(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The sine of radians, within 1.6 ulp for all floats; NaN of infinities, zero keeps its sign."""
    return builder.select(x.eq(0), x, shifted_sine(builder, x, 0))


@vector_function
def cos(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The cosine of radians, within 1.6 ulp for all floats; NaN of infinities."""
    return shifted_sine(builder, x, 1)


@vector_function
def tan(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The tangent of radians, within 0.6 ulp for all floats; NaN of infinities, zero keeps its sign."""
    return builder.select(x.eq(0), x, from_quadrant(builder, x, lambda r, n: quadrant_tangent(builder, r, n)))


def shifted_sine(builder: FunctionBuilder, x: LLVMValue, quadrants: int) -> LLVMValue:
    """sin(x + quadrants * pi/2)."""
    return from_quadrant(
        builder, x, lambda r, n: quadrant_sine(builder, r.convert("fptrunc", "float"), n, quadrants)
    )


def from_quadrant(
    builder: FunctionBuilder, x: LLVMValue, function: Callable[[LLVMValue, LLVMValue], LLVMValue]
) -> LLVMValue:
    """function(r, n) with x = n*pi/2 + r, |r| <= pi/4; r is a double, n an integer modulo 4."""
    common = function(*cody_waite(builder, x))
    is_large = builder.fabs(x) >= LARGE_ARGUMENT

    def rare() -> LLVMValue:
        return builder.select(is_large, function(*payne_hanek(builder, x)), common)

    return builder.branch_if_any(is_large, rare, common)


def quadrant_tangent(builder: FunctionBuilder, r: LLVMValue, quadrant: LLVMValue) -> LLVMValue:
    """tan(r + quadrant * pi/2), |r| <= pi/4: a tangent, or the negative reciprocal of one."""
    s = r * r
    tangent = builder.fma(r * s, builder.horner(s, TAN_COEFFICIENTS), r)
    return builder.select((quadrant & 1).eq(0), tangent, -1 / tangent).convert("fptrunc", "float")


def quadrant_sine(builder: FunctionBuilder, r: LLVMValue, quadrant: LLVMValue, offset: int) -> LLVMValue:
    """sin(r + (quadrant + offset) * pi/2), |r| <= pi/4."""
    s = r * r
    sine = builder.fma(r * s, builder.horner(s, SIN_COEFFICIENTS), r)
    cosine = builder.fma(s * s, builder.horner(s, COS_COEFFICIENTS), builder.fma(s, -0.5, 1))
    quadrant = quadrant + offset
    result = builder.select((quadrant & 1).eq(0), sine, cosine)
    return (result.bitcast() ^ ((quadrant & 2) << 30)).bitcast()


def cody_waite(builder: FunctionBuilder, x: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """(r, n) with x = n*pi/2 + r, |r| <= pi/4, for |x| < LARGE_ARGUMENT; r is a double, n an integer."""
    x64 = x.convert("fpext", "double")
    shifted = builder.fma(x64, 1 / HALF_PI, ROUNDER)
    n = shifted - ROUNDER
    r = builder.fma(n, -HALF_PI_LOW, builder.fma(n, -HALF_PI_HIGH, x64))
    return r, shifted.bitcast().convert("trunc", "i32")


def payne_hanek(builder: FunctionBuilder, x: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """(r, n modulo 4) with x = n*pi/2 + r, |r| <= pi/4, for |x| >= LARGE_ARGUMENT.

    x is an integer m of 24 bits times a power of two.  The table holds that power times 2/pi, modulo 4, in three parts;
    the products of m with the first two are exact.
    """
    bits = x.bitcast()
    row = ((bits >> 23) & 255) - (127 + 23)
    row = builder.call_intrinsic("smax", row, builder.constant(0, row.type))
    m = ((bits & 0x7FFFFF) | 0x800000).convert("sitofp", "double")
    m = builder.copysign(m, x.convert("fpext", "double"))
    high, middle, low = (
        builder.table_lookup(f"@sx_quarters_{i}", part, row) for i, part in enumerate(TWO_OVER_PI_PARTS)
    )
    first = m * high
    shifted = first + ROUNDER
    rest = (first - (shifted - ROUNDER)) + m * middle
    rest = builder.fma(m, low, rest)
    shifted_rest = rest + ROUNDER
    quadrant = (shifted.bitcast() + shifted_rest.bitcast()).convert("trunc", "i32")
    return (rest - (shifted_rest - ROUNDER)) * HALF_PI, quadrant
