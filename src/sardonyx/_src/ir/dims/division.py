"""Division in canonical form: `//` and `%` with Python's rounding, ceiling and exact division.

A quotient x // k by a number k remains in an expression only if it cannot be simplified: the coefficients of x are
smaller than k and have no factor in common with it, one of them is positive, no term of x is itself a division by a
number, and the values of x give more than one quotient.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, overload

from sardonyx._src.ir.dims.atoms import DimCall, Monomial, lone_atom
from sardonyx._src.ir.dims.factors import cancel, divide_coefficients, integer_factor, polynomial_quotient
from sardonyx._src.ir.dims.intervals import MEMO_ENTRIES, floor_quotient, interval, is_nonnegative, is_nonzero
from sardonyx._src.ir.dims.polynomials import call, from_terms
from sardonyx._src.ir.dims.printing import atom_key

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Dim, Expr, Known


@overload
def ceil_div(a: Known, b: Known) -> Known: ...
@overload
def ceil_div(a: Dim, b: Dim) -> Dim: ...
def ceil_div(a: Dim, b: Dim) -> Dim:
    """a / b, rounded up; ZeroDivisionError for the int 0."""
    if a is None or b is None:
        return None
    if is_nonnegative(b):
        return floordiv(a + b - 1, b)
    return -floordiv(-a, b)


@overload
def exact_div(a: Known, b: Known) -> Known: ...
@overload
def exact_div(a: Dim, b: Dim) -> Dim: ...
def exact_div(a: Dim, b: Dim) -> Dim:
    """a / b; the caller guarantees that b is not zero and divides a, so that common factors are canceled.

    What does not cancel remains as a // b.  Raises ZeroDivisionError when b is the int 0, and ValueError when
    both are ints and b does not divide a.
    """
    if a is None or b is None:
        return None
    if isinstance(a, int) and isinstance(b, int):
        if a % b:
            raise ValueError(f"{a} is not a multiple of {b}")
        return a // b
    if a == 0:
        return 0
    a, b = cancel(a, b)
    if not isinstance(b, int):
        quotient = polynomial_quotient(a, b)
        if quotient is not None:
            return quotient
    return floordiv(a, b)


def floordiv(a: Known, b: Known) -> Known:
    """a // b."""
    if not isinstance(b, int):
        return floordiv_by_expr(a, b)
    if isinstance(a, int):
        return a // b
    if b == 0:
        raise ZeroDivisionError(f"division by zero: {a} // 0")
    return floordiv_by_int(a, b) if b > 0 else floordiv_by_int(-a, -b)


def mod(a: Known, b: Known) -> Known:
    """a % b."""
    if not isinstance(b, int):
        return mod_by_expr(a, b)
    if isinstance(a, int):
        return a % b
    if b == 0:
        raise ZeroDivisionError(f"division by zero: {a} % 0")
    return mod_by_int(a, b) if b > 0 else -mod_by_int(-a, -b)


@lru_cache(maxsize=MEMO_ENTRIES, typed=True)  # the layers of a model have few different sizes
def floordiv_by_int(a: Known, k: int) -> Known:
    """a // k for k >= 1."""
    whole, a = split_multiple(a, k)
    if isinstance(a, int):
        return whole + a // k
    shared = gcd(k, *(c for monomial, c in a.terms.items() if monomial))
    if shared > 1:
        # the constant may round down: it never lifts a sum of multiples of `shared` to the next one
        return whole + floordiv_by_int(quotient_of_terms(a, shared), k // shared)
    if all(c < 0 for monomial, c in a.terms.items() if monomial):
        return whole - floordiv_by_int(-a + (k - 1), k)
    unnested = unnest(a)
    if unnested is not None:
        dividend, inner = unnested
        return whole + floordiv_by_int(dividend, k * inner)
    low, high = (floor_quotient(bound, k) for bound in interval(a))
    if low == high:
        return whole + int(low)
    return whole + call("//", a, k)


def split_multiple(a: Known, k: int) -> tuple[Known, Known]:
    """Parts q, r with a = k*q + r: coefficients of r lie in (-k, k) with the sign they had, its constant in (-k, 0]."""
    if isinstance(a, int):
        return divmod(a, k)
    whole: dict[Monomial, int] = {}
    for monomial, c in a.terms.items():
        whole[monomial] = c // k if c > 0 and monomial else -(-c // k)
    quotient = from_terms({m: c for m, c in whole.items() if c}, "//", a, k)
    return quotient, a - k * quotient


def quotient_of_terms(a: Expr, k: int) -> Known:
    """The sum of all terms divided by k >= 1, each rounded down."""
    return from_terms({m: c // k for m, c in a.terms.items() if c // k}, "//", a, k)


def unnest(a: Expr) -> tuple[Known, int] | None:
    """The dividend b and the number j for which a // k is b // (j*k), when a is p + x // j or p - x // j."""
    divisions = [
        (monomial[0], c)
        for monomial, c in a.terms.items()
        if c in (1, -1) and len(monomial) == 1 and isinstance(monomial[0], DimCall) and monomial[0].op == "//"
    ]
    for atom, sign in sorted(divisions, key=lambda term: atom_key(term[0])):
        x, j = atom.args
        if isinstance(j, int):
            rest = a - sign * a.with_terms({(atom,): 1})
            return rest * j + (x if sign > 0 else j - 1 - x), j  # -(x // j) is (j - 1 - x) // j
    return None


def mod_by_int(a: Known, k: int) -> Known:
    """a % k for k >= 1."""
    if isinstance(a, int):
        return a % k
    a = residue(without_mod(a, k), k)
    if isinstance(a, int):
        return a % k
    shared = gcd(k, *(c for monomial, c in a.terms.items() if monomial))
    if shared > 1:
        return shared * mod_by_int(quotient_of_terms(a, shared), k // shared) + a.constant % shared
    low, high = (floor_quotient(bound, k) for bound in interval(a))
    if low == high:
        return a - k * int(low)
    return call("%", a, k)


def residue(a: Known, k: int) -> Known:
    """a modulo k: coefficients in (-k/2, k/2], the constant in [0, k)."""
    if isinstance(a, int):
        return a % k
    terms: dict[Monomial, int] = {}
    for monomial, c in a.terms.items():
        rest = c % k
        terms[monomial] = rest - k if monomial and 2 * rest > k else rest
    return from_terms({m: c for m, c in terms.items() if c}, "%", a, k)


def without_mod(a: Expr, k: int) -> Known:
    """a modulo k, with x instead of each x % j if the result is the same: (x % 8) % 4 is x % 4."""
    for monomial, c in a.terms.items():
        if len(monomial) == 1 and isinstance(monomial[0], DimCall) and monomial[0].op == "%":
            x, j = monomial[0].args
            if isinstance(j, int) and c * j % k == 0:
                plain = a + c * (x - a.with_terms({monomial: 1}))
                return plain if isinstance(plain, int) else without_mod(plain, k)
    return a


@lru_cache(maxsize=MEMO_ENTRIES, typed=True)
def floordiv_by_expr(a: Known, b: Expr) -> Known:
    """a // b for a symbolic b; if b may be zero, the division is not simplified."""
    a, b, _ = cancel_factor(a, b)
    if is_nonzero(b):
        quotient = polynomial_quotient(a, b)
        if quotient is not None:
            return quotient
    return 0 if is_within(a, b) else call("//", a, b)


def mod_by_expr(a: Known, b: Expr) -> Known:
    """a % b for a symbolic b; if b may be zero, the operation is not simplified."""
    a, b, factor = cancel_factor(a, b)  # x*f % (y*f) is f * (x % y), for a negative f as well
    if is_nonzero(b) and polynomial_quotient(a, b) is not None:
        return 0
    atom = lone_atom(a)
    is_reduced = is_within(a, b) or (isinstance(atom, DimCall) and atom.op == "%" and atom.args[1] == b)
    return factor * (a if is_reduced else call("%", a, b))


def cancel_factor(a: Known, b: Expr) -> tuple[Known, Expr, int]:
    """a / f, b / f and f, their common integer factor, which is negative if all coefficients of b are."""
    factor = integer_factor(a, b)
    if all(c < 0 for c in b.terms.values()):
        factor = -factor
    return divide_coefficients(a, factor), divide_coefficients(b, factor), factor


def is_within(a: Known, b: Expr) -> bool:
    """Whether 0 <= a < b is known."""
    return is_nonnegative(a) and is_nonnegative(b - 1 - a)
