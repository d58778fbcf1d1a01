"""Interval arithmetic over expressions: atoms are treated as independent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

from sardonyx._src.ir.dims.atoms import Atom, DimCall, Monomial, Symbol

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Expr, Known

Bound = int | float  # an int, or minus or plus infinity
Interval = tuple[Bound, Bound]
EVERYTHING: Interval = (-inf, inf)
MEMO_ENTRIES = 4096  # monomials with cached bounds, and results of each cached operation


def interval(dim: Known) -> Interval:
    """Bounds that hold for all values of the symbols, wherever no divisor is zero."""
    return (dim, dim) if isinstance(dim, int) else dim.interval


def sum_interval(terms: Mapping[Monomial, int]) -> Interval:
    """Bounds of a polynomial, given as coefficients by monomials; expressions store theirs (`Expr.interval`)."""
    low: Bound = 0
    high: Bound = 0
    for monomial, coefficient in terms.items():
        ends = [times(coefficient, bound) for bound in monomial_interval(monomial)]
        low, high = plus(low, min(ends)), plus(high, max(ends))
    return low, high


@lru_cache(maxsize=MEMO_ENTRIES)
def monomial_interval(monomial: Monomial) -> Interval:
    result: Interval = (1, 1)
    for atom in monomial:
        result = product(result, atom_interval(atom))
    return result


def product(a: Interval, b: Interval) -> Interval:
    (low, high), (other_low, other_high) = a, b
    if low >= 0 and other_low >= 0:  # most factors are sizes
        return times(low, other_low), times(high, other_high)
    corners = [times(x, y) for x in a for y in b]
    return min(corners), max(corners)


def plus(x: Bound, y: Bound) -> Bound:
    """x + y, without turning a large int into a float; never inf - inf, as both are lower or both are upper bounds."""
    if abs(x) == inf:
        return x
    return y if abs(y) == inf else x + y


def times(x: Bound, y: Bound) -> Bound:
    """x * y with 0 * inf = 0, and without turning a large int into a float."""
    if x == 0 or y == 0:
        return 0
    if abs(x) == inf or abs(y) == inf:
        return inf if (x > 0) == (y > 0) else -inf
    return x * y


def atom_interval(atom: Atom) -> Interval:
    if isinstance(atom, Symbol):
        return atom.low, inf
    if not isinstance(atom, DimCall):
        return EVERYTHING
    ranges = [interval(arg) for arg in atom.args]
    if atom.op == "max":
        return max(low for low, _ in ranges), max(high for _, high in ranges)
    if atom.op == "min":
        return min(low for low, _ in ranges), min(high for _, high in ranges)
    return quotient(*ranges) if atom.op == "//" else remainder(*ranges)


def quotient(dividend: Interval, divisor: Interval) -> Interval:
    if divisor[0] < 0 or divisor[1] < 1:
        return EVERYTHING
    smallest: Bound = max(divisor[0], 1)
    corners = [floor_quotient(x, y) for x in dividend for y in (smallest, divisor[1])]
    return min(corners), max(corners)


def floor_quotient(x: Bound, y: Bound) -> Bound:
    """x // y for y >= 1, infinities included; -1 // inf is -1, as it is for every large y."""
    if abs(x) == inf:
        return x
    if y == inf:
        return -1 if x < 0 else 0
    return x // y


def remainder(dividend: Interval, divisor: Interval) -> Interval:
    if divisor[0] < 0 or divisor[1] < 1:
        return EVERYTHING
    high = divisor[1] - 1
    return 0, min(high, dividend[1]) if dividend[0] >= 0 else high


def is_nonnegative(dim: Known) -> bool:
    return interval(dim)[0] >= 0


def is_nonzero(expr: Expr) -> bool:
    low, high = interval(expr)
    return low > 0 or high < 0
