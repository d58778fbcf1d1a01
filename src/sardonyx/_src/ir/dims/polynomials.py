"""Polynomial arithmetic on expressions: sum, product and multiple, with limits of size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sardonyx._src.ir.dims.atoms import DimCall, Monomial, Op, Opaque
from sardonyx._src.ir.dims.printing import atom_key

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Expr, Known

MAX_TERMS = 64  # terms of one polynomial
MAX_SIZE = 256  # atoms of one expression, also inside calls; long names and large numbers count as several
MAX_DEPTH = 16  # nested calls


def measure(terms: dict[Monomial, int]) -> tuple[int, int]:
    """Size and depth of a polynomial, as `MAX_SIZE` and `MAX_DEPTH` count them."""
    size = depth = 0
    for monomial, coefficient in terms.items():
        size += coefficient.bit_length() >> 5
        for atom in monomial:
            if isinstance(atom, DimCall):
                size += 1
                for arg in atom.args:
                    if isinstance(arg, int):
                        size += arg.bit_length() >> 5
                        depth = max(depth, 1)
                    else:
                        size += arg.size
                        depth = max(depth, arg.depth + 1)
            else:
                size += 1 + (len(atom[0]) >> 4)
    return size, depth


def from_terms(terms: dict[Monomial, int], op: str, a: Expr, b: Known) -> Known:
    """The result of a op b, given its nonzero terms: an int, an expression, or opaque if it is too large."""
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    expr = a.with_terms(terms)
    return expr if len(terms) <= MAX_TERMS and expr.size <= MAX_SIZE else opaque(op, a, b)


def call(op: Op, *args: Known) -> Expr:
    """The call as an expression, or opaque if it is too large; the caller guarantees that no rule can simplify it."""
    expr = first_expr(args).with_terms({(DimCall(op, args),): 1})
    return expr if expr.size <= MAX_SIZE and expr.depth <= MAX_DEPTH else opaque(op, *args)


def opaque(op: str, *args: Known) -> Expr:
    """The value that is known only as the result of this operation on these arguments."""
    from hashlib import blake2b  # loads slowly, and is rarely needed

    operands = [f"{arg:x}" if isinstance(arg, int) else f"({arg.text})" for arg in args]
    if op in ("+", "*"):
        operands.sort()
    operation = f"{op} {' '.join(operands)}".encode("utf-8", "surrogatepass")
    atom = Opaque(blake2b(operation, digest_size=16).hexdigest())
    return first_expr(args).with_terms({(atom,): 1})


def first_expr(args: tuple[Known, ...]) -> Expr:
    return next(arg for arg in args if not isinstance(arg, int))


def combine(a: Expr, b: Known, sign: int) -> Known:
    """a + sign * b."""
    if isinstance(b, int):
        if b == 0:
            return a
        addends: Mapping[Monomial, int] = {(): b}
    else:
        addends = b.terms
    terms = dict(a.terms)
    for monomial, coefficient in addends.items():
        total = terms.get(monomial, 0) + sign * coefficient
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]
    return from_terms(terms, "+" if sign > 0 else "-", a, b)


def scale(a: Expr, factor: int) -> Known:
    """a * factor."""
    if factor == 1:
        return a
    terms = {monomial: factor * coefficient for monomial, coefficient in a.terms.items()} if factor else {}
    return from_terms(terms, "*", a, factor)


def multiply(a: Expr, b: Expr) -> Known:
    """a * b, multiplied out."""
    terms: dict[Monomial, int] = {}
    for left, p in a.terms.items():
        for right, q in b.terms.items():
            monomial = tuple(sorted(left + right, key=atom_key)) if left and right else left or right
            terms[monomial] = terms.get(monomial, 0) + p * q
    return from_terms({m: c for m, c in terms.items() if c}, "*", a, b)
