"""Ratios: elements of float tensors that inference knows as a size divided by a number, such as `h / 2` or `0.5 * h`.

Models that compute sizes in floats round them to whole numbers afterwards, by Floor, Ceil or Cast.  Floats hold a ratio
exactly if its denominator is a power of two, and arithmetic goes on with such ratios only.  Any other ratio is
rounded by the run, but never across a whole number, so that Floor, Ceil and Cast of it are known all the same.
"""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known, exact_div

MAX_DENOMINATOR = 1 << 16  # an element with a larger denominator becomes unknown


@dataclass(frozen=True, slots=True)
class Ratio:
    """numerator / denominator, in lowest terms; the denominator is at least 2."""

    numerator: Known
    denominator: int

    @property
    def is_exact(self) -> bool:
        """Whether floats hold the ratio exactly, so that results computed from it are known."""
        return self.denominator & (self.denominator - 1) == 0

    def __add__(self, other: Element) -> Element | None:
        if not self.is_exact:
            return None
        a, b = numerator(other), denominator(other)
        return divide(self.numerator * b + a * self.denominator, self.denominator * b)

    __radd__ = __add__

    def __sub__(self, other: Element) -> Element | None:
        return self + -other

    def __rsub__(self, other: Element) -> Element | None:
        return -self + other

    def __neg__(self) -> Ratio:
        return Ratio(-self.numerator, self.denominator)

    def __mul__(self, other: Element) -> Element | None:
        if not self.is_exact:
            return None
        return divide(self.numerator * numerator(other), self.denominator * denominator(other))

    __rmul__ = __mul__


Element: TypeAlias = Known | Ratio  # a known element: a number, an expression of dims, or a ratio


def numerator(element: Element) -> Known:
    return element.numerator if isinstance(element, Ratio) else element


def denominator(element: Element) -> int:
    return element.denominator if isinstance(element, Ratio) else 1


def divide(a: Known, b: int) -> Element | None:
    """a / b for b >= 1; None if the denominator is too large."""
    shared = gcd(b, *((a,) if isinstance(a, int) else a.terms.values()))
    a, b = exact_div(a, shared), b // shared
    if a % b == 0:
        return exact_div(a, b)
    return Ratio(a, b) if b <= MAX_DENOMINATOR else None


def quotient(a: Element, b: Element) -> Element | None:
    """a / b; None unless b is a number other than 0, and a is no inexact ratio."""
    factor = numerator(b)
    if not isinstance(factor, int) or factor == 0 or (isinstance(a, Ratio) and not a.is_exact):
        return None
    sign = 1 if factor > 0 else -1
    return divide(sign * numerator(a) * denominator(b), denominator(a) * abs(factor))


def ratio_of(number: float) -> Element | None:
    """A finite float as a whole number or a ratio; None if its denominator is too large."""
    try:
        return divide(*number.as_integer_ratio())
    except (OverflowError, ValueError):
        return None
