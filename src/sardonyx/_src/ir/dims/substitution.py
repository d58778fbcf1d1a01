"""Substitution of dims for symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING

from sardonyx._src.ir.dims.atoms import Atom, DimCall, Symbol, has_opaque_part, leaves
from sardonyx._src.ir.dims.division import floordiv, mod
from sardonyx._src.ir.dims.extrema import dim_max, dim_min

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Dim, Expr, Known

DIM_OPERATIONS: Mapping[str, Callable[..., Known]] = {
    "//": floordiv,
    "%": mod,
    "max": dim_max,
    "min": dim_min,
}


def substitute(expr: Expr, mapping: Mapping[str, Dim]) -> Dim:
    """See `Expr.substitute`."""
    names = {atom.name for atom in leaves(expr) if isinstance(atom, Symbol)}
    if any(mapping.get(name, 0) is None for name in names):
        return None
    if has_opaque_part(expr):
        return None
    known = {name: dim for name in names if (dim := mapping.get(name)) is not None}
    try:
        return replace_symbols(expr, known)
    except ZeroDivisionError:
        return None


def replace_symbols(dim: Known, mapping: Mapping[str, Known]) -> Known:
    """The dim with symbols replaced; raises ZeroDivisionError for a divisor that becomes 0."""
    if isinstance(dim, int):
        return dim
    total: Known = 0
    for monomial, coefficient in dim.terms.items():
        factors = (replacement(atom, mapping, dim) for atom in monomial)
        total += reduce(mul, factors, coefficient)
    return total


def replacement(atom: Atom, mapping: Mapping[str, Known], expr: Expr) -> Known:
    """The dim that replaces an atom of an expression; the atom itself if none of its symbols is in the mapping."""
    if isinstance(atom, Symbol) and atom.name in mapping:
        return mapping[atom.name]
    if isinstance(atom, DimCall):
        return DIM_OPERATIONS[atom.op](*(replace_symbols(arg, mapping) for arg in atom.args))
    return expr.with_terms({(atom,): 1})
