"""The shortest decimals of many single-precision floats at once, as `str(numpy.float32)` writes them one at a time.

A decimal identifies a float if parsing it returns the float.  It is the quotient of an integer, its significand, and a
power of ten.  The integers and powers used here are exact as doubles, hence the quotient in double precision is the
double nearest to the decimal; the decimal identifies the float if this double rounds to the float.  Each float is tried
with 6, 7, 8 and 9 significant digits; 9 always suffice.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]

# Only magnitudes in this range, without its end: with 9 significant digits, they have at most 6 integer digits and
# 12 decimals.
MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-4, 1e6
DECIMALS = 12
FEWEST_DIGITS, MOST_DIGITS = 6, 9  # different decimals of 6 digits always identify different floats
DECADES = np.array([float(f"1e{exponent}") for exponent in range(-3, 6)])
SCALES = np.array([float(10**decimals) for decimals in range(DECIMALS + 1)])
POWERS = SCALES.astype(np.int64)
TIE_MARGIN = 1e-6  # larger than the rounding error of a scaled float, which is below 1e9
MANTISSA = np.uint32(0x007FFFFF)  # the mantissa bits of a float32
# The 29 mantissa bits of a double that float32 lacks, and their value half-way between two floats.
LOW_BITS, HALF_WAY = np.uint64((1 << 29) - 1), np.uint64(1 << 28)

CHUNK = 1 << 13  # floats that are converted at a time
ZERO = ord("0")
THREE_DIGITS = np.array([list(b"%03d" % number) for number in range(1000)], np.uint8).T.copy()
WIDTH, POINT = 21, 7  # a sign, 6 integer digits, the point, 12 decimals, a comma
GROUPS = (17, 14, 11, 8, 4, 1)  # the columns at which groups of three digits begin, the last group first
PLACEHOLDER = np.frombuffer(b"%s".ljust(WIDTH - 1, b"\0") + b",", np.uint8)[:, np.newaxis]


def decimals_text(singles: NDArray[np.float32]) -> tuple[str, list[int]]:
    """The decimals of the floats, each followed by a comma, and the indices of the floats left out.

    A float that is left out is represented by "%s".  These are floats that are not finite, floats with a magnitude out of
    the range from MIN_MAGNITUDE to MAX_MAGNITUDE, and rare ones for which this method does not find the shortest decimal.
    """
    strings: list[bytes] = []
    left_out: list[int] = []
    for start in range(0, len(singles), CHUNK):
        chunk = singles[start : start + CHUNK]
        multiples, is_known = shortest_decimals(chunk)
        strings.append(layout(multiples, np.signbit(chunk), is_known))
        left_out += (np.flatnonzero(~is_known) + start).tolist()
    return b"".join(strings).decode("ascii"), left_out


def shortest_decimals(singles: NDArray[np.float32]) -> tuple[NDArray[np.int64], Flags]:
    """The shortest decimals of the magnitudes as multiples of 10**-DECIMALS, and for each whether it was found."""
    absolute = np.abs(singles)
    is_known = ((absolute >= MIN_MAGNITUDE) & (absolute < MAX_MAGNITUDE)) | (absolute == 0)
    magnitudes = np.where(is_known, absolute, 0).astype(np.float64)
    # The number of decimals that makes FEWEST_DIGITS significant digits; "right", since a power of ten has as many integer
    # digits as the numbers above it.
    decimals = len(DECADES) - np.searchsorted(DECADES, magnitudes, "right")
    multiples, is_identified, is_ambiguous = nearest_decimals(magnitudes, decimals)
    is_known &= ~is_ambiguous
    # The float below a power of two is closer than the one above, so that a decimal other than the nearest may identify it.
    is_power_of_two = (singles.view(np.uint32) & MANTISSA) == 0
    is_known &= is_identified | ~is_power_of_two
    pending = np.flatnonzero(~is_identified & is_known)
    for _ in range(MOST_DIGITS - FEWEST_DIGITS):
        decimals[pending] += 1
        multiples[pending], is_identified, is_ambiguous = nearest_decimals(
            magnitudes[pending], decimals[pending]
        )
        is_known[pending[is_ambiguous]] = False
        pending = pending[~is_identified]
    is_known[pending] = False
    return multiples, is_known


def nearest_decimals(
    magnitudes: NDArray[np.float64], decimals: NDArray[np.intp]
) -> tuple[NDArray[np.int64], Flags, Flags]:
    """The nearest decimals as multiples of 10**-DECIMALS, and two flags for each.

    The first tells whether the decimal identifies its float; the second, whether it does but is ambiguous: it is half-way
    between two floats, or another decimal is equally near to the float.
    """
    scales = SCALES[decimals]
    scaled = magnitudes * scales
    significands = np.rint(scaled)
    quotients = significands / scales
    is_identified = quotients.astype(np.float32) == magnitudes
    is_ambiguous = np.abs(scaled - significands) > 0.5 - TIE_MARGIN
    is_ambiguous |= (quotients.view(np.uint64) & LOW_BITS) == HALF_WAY
    multiples = significands.astype(np.int64) * POWERS[DECIMALS - decimals]
    return multiples, is_identified, is_identified & is_ambiguous


def layout(multiples: NDArray[np.int64], is_negative: Flags, is_known: Flags) -> bytes:
    """The text of multiples of 10**-DECIMALS.

    Each number is a column of an array with a row for each character; characters that are not written are null.
    """
    characters = np.zeros((WIDTH, len(multiples)), np.uint8)
    characters[0] = is_negative * np.uint8(ord("-"))
    characters[POINT] = ord(".")
    characters[-1] = ord(",")
    for column in GROUPS:
        thousands = multiples // 1000
        characters[column : column + 3] = THREE_DIGITS.take(multiples - thousands * 1000, axis=1)
        multiples = thousands
    erase_zeros(characters[1 : POINT - 1])
    erase_zeros(characters[WIDTH - 2 : POINT + 1 : -1])
    if not is_known.all():
        characters[:, ~is_known] = PLACEHOLDER
    return characters.T.tobytes().translate(None, b"\0")


def erase_zeros(digits: NDArray[np.uint8]) -> None:
    """Replaces the zeros with which each number begins by null.  digits: a row for each digit, a column for each number."""
    is_leading = np.ones(digits.shape[1], np.bool_)
    for row in digits:
        is_leading &= row == ZERO
        row *= ~is_leading
