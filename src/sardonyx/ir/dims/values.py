"""Values of expressions: under numbers, and under other dims in place of symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import index, mul

from sardonyx.ir.dims.division import floordiv, mod
from sardonyx.ir.dims.expr import Atom, Call, Dim, Expr, Known, Op, Opaque, Symbol
from sardonyx.ir.dims.extrema import dim_max, dim_min

OPERATIONS: dict[Op, Callable[..., Known]] = {"//": floordiv, "%": mod, "max": dim_max, "min": dim_min}


def evaluate(dim: Dim, values: Mapping[str, int]) -> int | None:
    """The number that a dim is for those values, all >= 0, of its symbols.

    None when the dim is None, a symbol has no value, a divisor is zero, or a part is opaque.
    """
    if not isinstance(dim, Expr):
        return dim
    names = dim.symbols()
    if not names <= values.keys():
        return None
    result = substitute(
        dim, {name: index(values[name]) for name in names}
    )  # NumPy's integers would wrap around
    return result if isinstance(result, int) else None


def substitute(expr: Expr, mapping: Mapping[str, Dim]) -> Dim:
    """See `Expr.substitute`."""
    names = {atom.name for atom in leaves(expr) if isinstance(atom, Symbol)}
    if any(mapping.get(name, 0) is None for name in names):
        return None
    if any(isinstance(atom, Opaque) for atom in leaves(expr)):
        return None
    known = {name: dim for name in names if (dim := mapping.get(name)) is not None}
    try:
        return replaced(expr, known)
    except ZeroDivisionError:
        return None


def symbols(expr: Expr) -> frozenset[str]:
    """See `Expr.symbols`."""
    return frozenset(atom.name for atom in leaves(expr) if isinstance(atom, Symbol))


def leaves(dim: Known) -> Iterator[Symbol | Opaque]:
    """Every symbol and opaque value in the expression, as often as it occurs."""
    if isinstance(dim, int):
        return
    for monomial in dim.terms:
        for atom in monomial:
            if isinstance(atom, Call):
                for arg in atom.args:
                    yield from leaves(arg)
            else:
                yield atom


def replaced(dim: Known, mapping: Mapping[str, Known]) -> Known:
    if isinstance(dim, int):
        return dim
    total: Known = 0
    for monomial, coefficient in dim.terms.items():
        total += reduce(mul, (replacement(atom, mapping) for atom in monomial), coefficient)
    return total


def replacement(atom: Atom, mapping: Mapping[str, Known]) -> Known:
    if isinstance(atom, Symbol) and atom.name in mapping:
        return mapping[atom.name]
    if isinstance(atom, Call):
        return OPERATIONS[atom.op](*(replaced(arg, mapping) for arg in atom.args))
    return Expr({(atom,): 1})
