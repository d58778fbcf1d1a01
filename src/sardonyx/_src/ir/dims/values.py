"""Values of expressions: under numbers, and under other dims in place of symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import index, mul

from sardonyx._src.ir.dims.division import floordiv, mod
from sardonyx._src.ir.dims.expr import Atom, Call, Dim, Expr, Known, Op, Opaque, Symbol
from sardonyx._src.ir.dims.extrema import dim_max, dim_min

NUMBERS: dict[Op, Callable[..., int]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
    "min": min,
}
OPERATIONS: dict[Op, Callable[..., Known]] = {"//": floordiv, "%": mod, "max": dim_max, "min": dim_min}


def evaluate(dim: Dim, values: Mapping[str, int]) -> int | None:
    """The number that a dim is for those values, all >= 0, of its symbols.

    None when the dim is None, a symbol has no value, a divisor is zero, or a part is opaque.
    """
    if not isinstance(dim, Expr):
        return dim
    try:
        return worked_out(dim, values)
    except (KeyError, ZeroDivisionError):
        return None


def worked_out(dim: Known, values: Mapping[str, int]) -> int:
    """The number that a dim is; raises KeyError for what has no value, and ZeroDivisionError."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms.items():
        product = coefficient
        for atom in monomial:
            if isinstance(atom, Symbol):
                product *= index(values[atom.name])  # NumPy's integers would wrap around
            elif isinstance(atom, Call):
                product *= NUMBERS[atom.op](*[worked_out(arg, values) for arg in atom.args])
            else:
                raise KeyError(atom.digest)
        total += product
    return total


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
