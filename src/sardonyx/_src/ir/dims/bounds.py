"""Bounds, equality and order of dims, for all values of their symbols.

Interval arithmetic treats atoms as independent.  Here calls are also relaxed: one after the other is replaced by a
bound in terms of its arguments, so that terms cancel: N - N//2 is at least N - N/2.
"""

from __future__ import annotations

from math import gcd, inf

from sardonyx._src.ir.dims.atoms import DimCall
from sardonyx._src.ir.dims.division import exact_div, floordiv, residue
from sardonyx._src.ir.dims.expr import Dim, Expr, Known
from sardonyx._src.ir.dims.intervals import Bound, interval, is_nonnegative
from sardonyx._src.ir.dims.printing import atom_key

# Calls relaxed one after the other; each max and min multiplies the work by its arguments.
MAX_RELAXATIONS = 3


def bounds(dim: Dim) -> tuple[int | None, int | None]:
    """Lower and upper bound for all values of the symbols, each None when there is none.

    None has no bounds: it may be a negative difference.
    """
    if dim is None:
        return None, None
    return finite(lower(dim)), finite(-lower(-dim))


def known_equal(a: Dim, b: Dim) -> bool | None:
    """True when equal for all values, False when different for all values, None when neither is known."""
    if a is None or b is None:
        return None
    difference = without_remainders(a - b)
    if isinstance(difference, int):
        return difference == 0
    factor = gcd(*(c for monomial, c in difference.terms.items() if monomial))
    if difference.constant % factor:
        return False
    low, low_of_opposite = lower(difference), lower(-difference)
    if low > 0 or low_of_opposite > 0:
        return False
    return True if low == 0 == low_of_opposite else None


def known_ge(a: Dim, b: Dim) -> bool | None:
    """True when a >= b for all values, False when a < b for all values, None when neither is known."""
    if a is None or b is None:
        return None
    difference = a - b
    if isinstance(difference, int):
        return difference >= 0
    if is_nonnegative(difference) or lower(difference) >= 0:
        return True
    return False if lower(-difference) > 0 else None


def finite(bound: Bound) -> int | None:
    return bound if isinstance(bound, int) else None


def lower(dim: Known, depth: int = MAX_RELAXATIONS) -> Bound:
    """A lower bound of all values, minus infinity if none is known."""
    best = interval(dim)[0]
    if isinstance(dim, int) or depth == 0:
        return best
    calls = [
        (monomial[0], coefficient)
        for monomial, coefficient in dim.terms.items()
        if len(monomial) == 1 and isinstance(monomial[0], DimCall)
    ]
    if not calls:
        return best
    atom, coefficient = min(calls, key=lambda pair: atom_key(pair[0]))
    return max(best, relax(dim, atom, coefficient, depth - 1))


def relax(dim: Expr, atom: DimCall, coefficient: int, depth: int) -> Bound:
    """A lower bound of dim, found by replacing its term coefficient * atom by a lower bound of the term."""
    rest = dim - coefficient * Expr({(atom,): 1})
    if atom.op in ("max", "min"):
        lows = [lower(rest + coefficient * arg, depth) for arg in atom.args]
        return max(lows) if (atom.op == "max") == (coefficient > 0) else min(lows)
    x, k = atom.args
    if atom.op == "%":
        return relax_mod(rest, x, k, coefficient, depth)
    return relax_floordiv(rest, x, k, coefficient, depth)


def relax_floordiv(rest: Known, x: Known, k: Known, coefficient: int, depth: int) -> Bound:
    """x // k lies in [(x-k+1)/k, x/k] for an int k, and is at most x when neither is negative."""
    if isinstance(k, int):
        estimate = x - (k - 1) if coefficient > 0 else x
        low = lower(rest * k + coefficient * estimate, depth)
        return -(-low // k) if isinstance(low, int) else low
    if coefficient < 0 and is_nonnegative(x) and is_nonnegative(k):
        return lower(rest + coefficient * x, depth)
    return -inf


def relax_mod(rest: Known, x: Known, k: Known, coefficient: int, depth: int) -> Bound:
    """x % k is x - k * (x // k) for an int k; else it is at most k - 1 and, when x is not negative, at most x."""
    if isinstance(k, int):
        return lower(rest + coefficient * (x - k * floordiv(x, k)), depth)
    if coefficient > 0 or not is_nonnegative(k):
        return -inf
    below = lower(rest + coefficient * (k - 1), depth)
    return max(below, lower(rest + coefficient * x, depth)) if is_nonnegative(x) else below


def without_remainders(dim: Known) -> Known:
    """The same value, with each term x % k written as x - k * (x // k), and each x // k as a sum with (x mod k) // k.

    Terms x // k and y // k then cancel as far as x and y differ by a multiple of k.
    """
    if isinstance(dim, int):
        return dim
    result: Known = dim
    for monomial, coefficient in dim.terms.items():
        if len(monomial) == 1 and isinstance(monomial[0], DimCall) and monomial[0].op in ("//", "%"):
            x, k = monomial[0].args
            rest = residue(x, k) if isinstance(k, int) else x
            quotient = exact_div(x - rest, k) + floordiv(rest, k)
            result += coefficient * (quotient if monomial[0].op == "//" else x - k * quotient)
            result -= coefficient * Expr({monomial: 1})
    return result
