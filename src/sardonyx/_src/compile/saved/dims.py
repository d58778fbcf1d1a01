"""Dims as JSON: a number, or a list of terms, each a factor and its atoms.

An atom is a symbol, which is its name, or an operation of two dims: `["//", a, b]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sardonyx._src.compile.saved.container import Json, must, the_list, the_number, the_text
from sardonyx._src.ir.dims import Expr, Known, dim_max, dim_min, symbol
from sardonyx._src.ir.dims.expr import Atom, Call, Symbol

OPERATIONS: Mapping[str, Callable[[Known, Known], Known]] = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "max": lambda a, b: dim_max(a, b),
    "min": lambda a, b: dim_min(a, b),
}


def dim_to(dim: Known) -> Json:
    if not isinstance(dim, Expr):
        return dim
    return [[factor, [atom_to(atom) for atom in monomial]] for monomial, factor in dim.terms.items()]


def atom_to(atom: Atom) -> Json:
    if isinstance(atom, Symbol):
        return atom.name
    assert isinstance(atom, Call), f"{atom} is too large to be worked out"
    return [atom.op, *(dim_to(arg) for arg in atom.args)]


def dim_from(found: Json) -> Known:
    """The dim; raises DecodeError for what is none."""
    if isinstance(found, int):
        return the_number(found)
    total: Known = 0
    for term in the_list(found):
        factor, atoms = the_list(term, 2)
        product: Known = the_number(factor)
        for atom in the_list(atoms):
            product = product * atom_from(atom)
        total = total + product
    return total


def atom_from(found: Json) -> Known:
    if isinstance(found, str):
        return symbol(found)
    op, a, b = the_list(found, 3)
    must(the_text(op) in OPERATIONS, f"{op} is no operation of dims")
    divisor = dim_from(b)
    must(op in ("max", "min") or divisor != 0, "a dim is divided by zero")
    return OPERATIONS[the_text(op)](dim_from(a), divisor)


def dims_to(dims: tuple[Known, ...]) -> Json:
    return [dim_to(dim) for dim in dims]


def dims_from(found: Json) -> tuple[Known, ...]:
    return tuple(dim_from(one) for one in the_list(found))
