"""Atoms: the indivisible factors of an expression's terms, and traversal of the atoms of an expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Known

Op: TypeAlias = Literal["//", "%", "max", "min"]


class Symbol(NamedTuple):
    """A named integer >= low; the name may be any string."""

    name: str
    low: int = 0


class DimCall(NamedTuple):
    """An operation that no rule can simplify; at least one argument is an `Expr`."""

    op: Op
    args: tuple[Known, ...]


class Opaque(NamedTuple):
    """The result of an operation that exceeds the limits of size, identified by a digest of operation and operands."""

    digest: str
    kind: str = "opaque"  # makes the tuple differ from a Symbol's


Atom: TypeAlias = Symbol | DimCall | Opaque
# A product of atoms, sorted by `atom_key`; a power repeats its atom; () is the monomial of the constant term.
Monomial: TypeAlias = tuple[Atom, ...]


def lone_atom(dim: Known) -> Atom | None:
    """The atom that is the whole expression, if it is one."""
    if isinstance(dim, int) or len(dim.terms) > 1:
        return None
    ((monomial, coefficient),) = dim.terms.items()
    return monomial[0] if coefficient == 1 and len(monomial) == 1 else None


def has_opaque_part(dim: Known) -> bool:
    """Whether a dim has an opaque part, so that it cannot be evaluated."""
    return any(isinstance(leaf, Opaque) for leaf in leaves(dim))


def leaves(dim: Known) -> Iterator[Symbol | Opaque]:
    """Every symbol and opaque value in the expression, as often as it occurs."""
    if isinstance(dim, int):
        return
    for monomial in dim.terms:
        for atom in monomial:
            if isinstance(atom, DimCall):
                for arg in atom.args:
                    yield from leaves(arg)
            else:
                yield atom
