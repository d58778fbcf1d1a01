"""Common factors of polynomials, and quotients without remainder."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, TypeVar

from sardonyx._src.ir.dims.atoms import Atom, Monomial
from sardonyx._src.ir.dims.polynomials import MAX_TERMS, from_terms
from sardonyx._src.ir.dims.printing import term_key

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Expr, Known

K = TypeVar("K", int, "Expr", "Known")


def integer_factor(*dims: Known) -> int:
    """The greatest integer that divides every coefficient; 0 if all of them are 0."""
    return gcd(*(c for dim in dims for c in ((dim,) if isinstance(dim, int) else dim.terms.values())))


def divide_coefficients(dim: K, factor: int) -> K:
    """dim / factor; the factor divides all coefficients."""
    if isinstance(dim, int):
        return dim // factor
    return (
        dim if factor == 1 else dim.with_terms({monomial: c // factor for monomial, c in dim.terms.items()})
    )


def cancel(a: Known, b: Known) -> tuple[Known, Known]:
    """a and b without the integer and the atoms that divide both; at least one of a and b must not be 0."""
    factor = integer_factor(a, b)
    a, b = divide_coefficients(a, factor), divide_coefficients(b, factor)
    for atom in () if isinstance(b, int) else next(iter(b.terms)):
        if not (isinstance(a, int) or isinstance(b, int)) and has_factor(a, atom) and has_factor(b, atom):
            a, b = without_factor(a, atom), without_factor(b, atom)
    return a, b


def has_factor(expr: Expr, atom: Atom) -> bool:
    return all(atom in monomial for monomial in expr.terms)


def without_factor(expr: Expr, atom: Atom) -> Known:
    terms = {divide_monomial(monomial, (atom,)): c for monomial, c in expr.terms.items()}
    return from_terms({m: c for m, c in terms.items() if m is not None}, "//", expr, 1)


def divide_monomial(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """monomial / divisor, or None when atoms are missing."""
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def polynomial_quotient(a: Known, b: Expr) -> Known | None:
    """The polynomial q with a = q*b for all values, or None if there is none: long division by the leading terms."""
    leading, factor = min(b.terms.items(), key=term_key)
    quotient: Known = 0
    for _ in range(MAX_TERMS):
        if isinstance(a, int):
            return quotient if a == 0 else None
        monomial, coefficient = min(a.terms.items(), key=term_key)
        rest = divide_monomial(monomial, leading)
        if rest is None or coefficient % factor:
            return None
        step = coefficient // factor
        partial = b.with_terms({rest: step}) if rest else step
        quotient, a = quotient + partial, a - partial * b
    return None
