"""Upper bounds of sizes with local symbols, each of which has a limit: the memory to reserve before the symbols are bound."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import mul

from sardonyx._src.compile.program.steps.program import depends_on
from sardonyx._src.ir.dims import Expr, Known, dim_max, dim_min, known_ge
from sardonyx._src.ir.dims.atoms import Atom, DimCall, Symbol
from sardonyx._src.ir.dims.expr import atom_expr

Range = tuple[Known, Known]  # the least and the greatest value


def upper_bound(size: Known, limits: Mapping[str, Known]) -> Known | None:
    """An upper bound of a size, without the symbols in `limits`; None if none is found.

    limits: the greatest value of each symbol, which may depend on other symbols; the least value is 0.
    """
    bounds = range_of(size, limits)
    return None if bounds is None else bounds[1]


def range_of(size: Known, limits: Mapping[str, Known]) -> Range | None:
    """The range of a size: the sum of the ranges of its terms; None if it is not known."""
    if not isinstance(size, Expr) or not depends_on(size, limits):
        return size, size
    low: Known = 0
    high: Known = 0
    for monomial, factor in size.terms.items():
        ranges = [range_of_atom(atom, limits) for atom in monomial]
        known = [r for r in ranges if r is not None]
        is_local = depends_on(Expr({monomial: factor}), limits) if monomial else False
        if len(known) < len(ranges) or (is_local and not all(known_ge(least, 0) for least, _ in known)):
            return None
        ends = [reduce(mul, (r[i] for r in known), factor) for i in ((0, 1) if factor > 0 else (1, 0))]
        low, high = low + ends[0], high + ends[1]
    return low, high


def range_of_atom(atom: Atom, limits: Mapping[str, Known]) -> Range | None:
    """The range of a symbol or call; None if it is not known.  All calls but remainders are monotonic in each argument."""
    if isinstance(atom, Symbol) and atom.name in limits:
        limit = range_of(limits[atom.name], limits)
        return None if limit is None else (atom.low, limit[1])
    if not isinstance(atom, DimCall) or not depends_on(atom_expr(atom), limits):
        return atom_expr(atom), atom_expr(atom)
    ranges = [range_of(arg, limits) for arg in atom.args]
    if None in ranges:
        return None
    (a_low, a_high), (b_low, b_high) = (r for r in ranges if r is not None)
    match atom.op:
        case "max":
            return dim_max(a_low, b_low), dim_max(a_high, b_high)
        case "min":
            return dim_min(a_low, b_low), dim_min(a_high, b_high)
    if not known_ge(a_low, 0) or not known_ge(b_low, 0):
        return None
    if atom.op == "%":  # a divisor of 0 counts as 1
        return 0, b_high
    return 0, a_high // dim_max(b_low, 1)
