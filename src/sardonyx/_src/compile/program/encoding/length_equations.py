"""Length equations: sums of multiples of input lengths that must be 0, or at least 0, such as `past - mask + 1`.

Native code compares them in each run of new sizes, where a model declares a size that no proof decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.dims.atoms import DimCall, Symbol, lone_atom

MAX_FACTORS = 1 << 14  # limit of the sum of all magnitudes: a sum of lengths up to MAX_SIZE then fits a slot


@dataclass(frozen=True, slots=True)
class LengthEquation:
    """constant + the sum of factor * length over all symbols = 0; factors: by symbol.

    is_bound: whether the sum must be at least 0 instead.
    """

    constant: int
    factors: Mapping[str, int]
    is_bound: bool = False


LengthEquations: TypeAlias = tuple[LengthEquation, ...]


def length_equations(left: Known, right: Known) -> LengthEquations | None:
    """Equations that make left = right true; None if it is never true, or there are none.

    A size that is one of several arguments is their maximum if it is at least each of them.
    """
    for size, extremum in ((left, right), (right, left)):
        match lone_atom(extremum):
            case DimCall(op="max" | "min" as op, args=args) if size in args:
                differences = [size - arg if op == "max" else arg - size for arg in args]
                return all_equations(differences, is_bound=True)
    return all_equations([left - right], is_bound=False)


def all_equations(sums: Sequence[Known], *, is_bound: bool) -> LengthEquations | None:
    """The equations of some sums; None if one of them is never true, not linear, or has too large factors."""
    equations = []
    for each in sums:
        if isinstance(each, int):
            if each < 0 or (each > 0 and not is_bound):
                return None
            continue
        equation = linear_equation(each, is_bound=is_bound)
        if equation is None:
            return None
        equations.append(equation)
    return tuple(equations)


def linear_equation(expression: Expr, *, is_bound: bool) -> LengthEquation | None:
    """The equation of a sum; None if it is not linear, or has too large factors."""
    constant, factors = 0, dict[str, int]()
    for monomial, factor in expression.terms.items():
        match monomial:
            case ():
                constant = factor
            case (Symbol(name=name),):
                factors[name] = factor
            case _:
                return None
    is_small = abs(constant) + sum(map(abs, factors.values())) <= MAX_FACTORS
    return LengthEquation(constant, factors, is_bound) if is_small else None
