"""Exact arithmetic on floating-point numbers, rounded once to nearest even, in integers and fractions of Python.

No instruction for vectors or floats computes a value here, so that what probes expect does not depend on the processor
that writes it down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """A binary format of IEEE 754.  precision: bits of the significand, with the hidden one; exponent: bits of the exponent."""

    precision: int
    exponent: int

    @property
    def bits(self) -> int:
        return self.precision + self.exponent

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def infinity(self) -> int:
        """The bits of infinity."""
        return ((1 << self.exponent) - 1) << self.precision - 1


HALF, BFLOAT, SINGLE, DOUBLE = Format(11, 5), Format(8, 8), Format(24, 8), Format(53, 11)


def value_of(bits: int, format: Format) -> Fraction:
    """The number that these bits mean; they must be finite."""
    magnitude = bits & ~(1 << format.bits - 1)
    exponent, fraction = divmod(magnitude, 1 << format.precision - 1)
    assert magnitude < format.infinity, f"{bits:#x} must be finite"
    if exponent:
        fraction += 1 << format.precision - 1
    value = Fraction(fraction) * Fraction(2) ** (max(exponent, 1) - format.bias - format.precision + 1)
    return -value if bits >> format.bits - 1 else value


def round_to(value: Fraction, format: Format, *, is_negative: bool = False) -> int:
    """The bits of the nearest number, of the even one of two.  is_negative: the sign of a zero."""
    sign = 1 << format.bits - 1 if value < 0 or (value == 0 and is_negative) else 0
    magnitude = abs(value)
    if magnitude == 0:
        return sign
    least = 1 - format.bias - format.precision + 1  # the exponent of the unit of subnormal numbers
    unit = max(floor_log2(magnitude) - format.precision + 1, least)
    steps = round_even(magnitude / Fraction(2) ** unit)
    # A carry into the next binade adds one to the exponent by itself.
    return sign | min((unit - least << format.precision - 1) + steps, format.infinity)


def floor_log2(value: Fraction) -> int:
    """The greatest n with 2^n <= value, for a positive value."""
    estimate = value.numerator.bit_length() - value.denominator.bit_length()
    return estimate if Fraction(2) ** estimate <= value else estimate - 1


def round_even(value: Fraction) -> int:
    """The nearest integer, the even one of two."""
    low = math.floor(value)
    rest = value - low
    return low + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1))


def root(value: Fraction, format: Format) -> int:
    """The bits of the square root of a number that is not negative."""
    scale = 4 * format.precision  # so that the integer root has more than twice the bits of the result
    shift = scale - floor_log2(value) // 2 if value else 0
    scaled = value * Fraction(4) ** shift
    low = math.isqrt(math.floor(scaled))
    is_exact = low * low == scaled
    # An inexact root lies strictly between two of these integers, and rounds as the middle between them does.
    middle = Fraction(low) if is_exact else Fraction(2 * low + 1, 2)
    return round_to(middle / Fraction(2) ** shift, format)
