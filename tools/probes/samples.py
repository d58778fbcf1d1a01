"""Operands of probes: the bits of the numbers at which instructions go wrong, and of arbitrary ones."""

from __future__ import annotations

from collections.abc import Iterator

from probes.exact import Format
from probes.probe import COUNT

SEEDS = 1  # of the first sequence; operands of one probe have consecutive ones


def random_bits(seed: int) -> Iterator[int]:
    """An endless sequence of arbitrary 64-bit integers (Steele and others, SplitMix, 2014)."""
    state = seed
    while True:
        state = state + 0x9E3779B97F4A7C15 & (1 << 64) - 1
        mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        yield mixed ^ mixed >> 31


def special_floats(format: Format) -> list[int]:
    """Zeros, subnormal numbers, neighbors of one, and the greatest finite number, with both signs."""
    hidden, unit = 1 << format.precision - 1, format.bias << format.precision - 1
    magnitudes = [0, 1, hidden - 1, hidden, hidden + 1, unit - 1, unit, unit + 1, format.infinity - 1]
    return [sign << format.bits - 1 | bits for bits in magnitudes for sign in (0, 1)]


def floats(format: Format, seed: int, exponents: int, *, specials: bool = True) -> list[int]:
    """The bits of finite numbers: special ones, and arbitrary ones of magnitudes from 2^-exponents to 2^exponents."""
    bits = special_floats(format) if specials else []
    if seed % 2:  # so that special numbers do not meet each other alone
        bits.reverse()
    for word in random_bits(seed):
        if len(bits) == COUNT:
            return bits
        exponent = format.bias - exponents + (word >> 54) % (2 * exponents)
        fraction = word & (1 << format.precision - 1) - 1
        bits.append((word >> 53 & 1) << format.bits - 1 | exponent << format.precision - 1 | fraction)
    raise AssertionError("the sequence is endless")


def integers(width: int, seed: int, low: int = 0, high: int = 0) -> list[int]:
    """Signed integers of `width` bits with their extremes, or arbitrary ones of low <= x < high."""
    words = random_bits(seed)
    if high > low:
        return [low + (next(words) >> 8) % (high - low) for _ in range(COUNT)]
    half = 1 << width - 1
    extremes = [0, -1, 1, half - 1, -half, half - 2, 1 - half, half >> 1]
    return [*extremes, *(signed(next(words) >> 64 - width, width) for _ in range(COUNT - len(extremes)))]


def signed(bits: int, width: int) -> int:
    """The signed integer with the lowest `width` bits of a number."""
    bits &= (1 << width) - 1
    return bits - (1 << width) if bits >> width - 1 else bits
