"""Canonical text of expressions, which has the same meaning for `parse` and for Python, and the order of atoms and terms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sardonyx._src.ir.dims.atoms import Atom, DimCall, Monomial, Symbol, lone_atom

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Expr, Known

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def atom_key(atom: Atom) -> tuple[bool, str]:
    """Sort key of atoms within a monomial: symbols by name, then the others by text."""
    if isinstance(atom, Symbol):
        return False, atom.name
    return True, atom_text(atom)


def term_key(term: tuple[Monomial, int]) -> tuple[int, list[tuple[bool, str]]]:
    """Sort key of terms: by degree, highest first, then by atoms (a graded lexical order)."""
    return -len(term[0]), [atom_key(atom) for atom in term[0]]


def inner_text(expr: Expr) -> str:
    """Terms by sign, positive first, then by degree and name; the constant last."""
    signed = sorted(expr.terms.items(), key=lambda term: (not term[0], term[1] < 0, term_key(term)))
    pieces: list[str] = []
    for monomial, coefficient in signed:
        negative = coefficient < 0
        if pieces or negative:
            pieces.append("-" if negative else "+")
        # Grouped after a leading minus: -a//b would negate a, not the quotient.
        pieces.append(term_text(monomial, abs(coefficient), group=pieces == ["-"]))
    return "".join(pieces)


def term_text(monomial: Monomial, factor: int, *, group: bool) -> str:
    """The text of a product; a `//` or `%` is in parentheses unless it is the whole product and `group` is false."""
    if factor == 1 and len(monomial) == 1 and not group:
        return atom_text(monomial[0])
    factors = [f"({atom_text(atom)})" if is_infix(atom) else atom_text(atom) for atom in monomial]
    return "*".join(factors if factor == 1 and factors else [str(factor), *factors])


def atom_text(atom: Atom) -> str:
    """`N`, `'batch size'`, `(N+1)//M`, `N%4`, `max(N,1)` or `opaque('...')`."""
    if isinstance(atom, Symbol):
        return atom.name if IDENTIFIER.fullmatch(atom.name) else quote(atom.name)
    if not isinstance(atom, DimCall):
        return f"opaque({quote(atom.digest)})"
    if is_infix(atom):
        left, right = atom.args
        return f"{dividend_text(left)}{atom.op}{divisor_text(right)}"
    return f"{atom.op}({','.join(known_text(arg) for arg in atom.args)})"


def is_infix(atom: Atom | None) -> bool:
    return isinstance(atom, DimCall) and atom.op in ("//", "%")


def known_text(dim: Known) -> str:
    return str(dim) if isinstance(dim, int) else dim.text


def dividend_text(dim: Known) -> str:
    """The text of a dividend, in parentheses if it is a sum and, for readability, if it is itself a division."""
    bare = isinstance(dim, int) or (len(dim.terms) == 1 and not is_infix(lone_atom(dim)))
    return known_text(dim) if bare else f"({known_text(dim)})"


def divisor_text(dim: Known) -> str:
    atom = lone_atom(dim)
    bare = isinstance(dim, int) or (atom is not None and not is_infix(atom))
    return known_text(dim) if bare else f"({known_text(dim)})"


def quote(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
