"""exp, exp2 and expm1, by a power of two times a polynomial on half an octave around 1."""

from __future__ import annotations

from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value

LN_2 = 0.6931471805599453
LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693145751953125  # 16 bits: its product with a count of octaves is exact
LN2_LOW = 1.42860682030941723e-06
ROUNDER = 12582912.0  # 1.5 * 2^23: what is added to it loses its fraction, and its last bits are the integer
# exp(r) = 1 + r + r*r*REST(r) for |r| <= ln(2)/2; the error is 2^-28 of exp(r) - 1.
REST = (0.5, 0.16666636, 0.04166651, 0.008341509, 0.001393053, 0.00015042655)


def nearest(code: Code, lifted: Value) -> tuple[Value, Value]:
    """The integer in the last bits of a float that `ROUNDER` was added to; nothing of meaning for NaN."""
    bits = code.constant(ROUNDER, lifted.kind).bits()
    return lifted - ROUNDER, lifted.bits() - bits


def power_of_two(n: Value) -> Value:
    """2^n as a float of the integer n from -126 to 127."""
    return ((n + 127) << 23).bits()


def halves(n: Value) -> tuple[Value, Value]:
    """Two integers whose sum is n: by their powers in turn, a result beyond the normal floats rounds once."""
    low = n >> 1
    return low, n - low


def reduced(code: Code, x: Value) -> tuple[Value, Value]:
    """(exp(r) - 1, n) with x = n*ln(2) + r and |r| <= ln(2)/2, for |x| < 2^21; n is an integer."""
    count, n = nearest(code, code.fma(x, LOG2_E, ROUNDER))
    r = code.fma(count, -LN2_HIGH, x)
    return near(code, code.fma(count, -LN2_LOW, r)), n


def near(code: Code, r: Value) -> Value:
    """exp(r) - 1 for |r| <= ln(2)/2."""
    return code.fma(r * r, code.polynomial(r, REST), r)


@function
def exp(code: Code, x: Value) -> Value:
    """e to the power x, within 1.0 ulp; denormal results too."""
    above_one, n = reduced(code, x.at_most(89).at_least(-104))
    low, high = halves(n)
    return (above_one + 1) * power_of_two(low) * power_of_two(high)


@function
def exp2(code: Code, x: Value) -> Value:
    """2 to the power x, within 1.0 ulp; denormal results too."""
    x = x.at_most(129).at_least(-151)
    count, n = nearest(code, x + ROUNDER)
    low, high = halves(n)
    return (near(code, (x - count) * LN_2) + 1) * power_of_two(low) * power_of_two(high)


@function
def expm1(code: Code, x: Value) -> Value:
    """e to the power x, less 1, within 1.5 ulp; keeps the sign of zero."""
    above_one, n = reduced(code, x.at_most(89).at_least(-18))
    low, high = halves(n)
    power = power_of_two(low)
    part = code.fma(above_one, power, power - power_of_two(-high))
    return code.with_sign(part * power_of_two(high), x)
