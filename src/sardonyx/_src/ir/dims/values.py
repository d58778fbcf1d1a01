"""Values of dims under numbers for their symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from operator import index

from sardonyx._src.ir.dims.atoms import DimCall, Op, Symbol
from sardonyx._src.ir.dims.expr import Dim, Expr, Known

INT_OPERATIONS: dict[Op, Callable[..., int]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
    "min": min,
}


def evaluate(dim: Dim, values: Mapping[str, int]) -> int | None:
    """The value of a dim, given the values, all >= 0, of its symbols.

    None when the dim is None, a symbol has no value, a divisor is zero, or a part is opaque.
    """
    if not isinstance(dim, Expr):
        return dim
    try:
        return compute_value(dim, values)
    except (KeyError, ZeroDivisionError):
        return None


def compute_value(
    dim: Known, values: Mapping[str, int], operations: Mapping[Op, Callable[..., int]] = INT_OPERATIONS
) -> int:
    """The value of a dim; raises KeyError for a symbol without value or an opaque part, and ZeroDivisionError."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms.items():
        product = coefficient
        for atom in monomial:
            if isinstance(atom, Symbol):
                product *= index(values[atom.name])  # NumPy integers would wrap around
            elif isinstance(atom, DimCall):
                args = [compute_value(arg, values, operations) for arg in atom.args]
                product *= operations[atom.op](*args)
            else:
                raise KeyError(atom.digest)
        total += product
    return total
