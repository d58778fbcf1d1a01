"""Length equations: sums of multiples of input lengths that must be 0, such as `past - mask + 1`.

Native code compares them in each run of new sizes, where a model declares a size that no proof decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.dims.atoms import Symbol

MAX_FACTORS = 1 << 14  # limit of the sum of all magnitudes: a sum of lengths up to MAX_SIZE then fits a slot


@dataclass(frozen=True, slots=True)
class LengthEquation:
    """constant + the sum of factor * length over all symbols = 0; factors: by symbol."""

    constant: int
    factors: Mapping[str, int]


LengthEquations: TypeAlias = tuple[LengthEquation, ...]


def length_equation(left: Known, right: Known) -> LengthEquation | None:
    """The equation left = right; None if it is not linear, always or never holds, or has too large factors."""
    difference = left - right
    if isinstance(difference, int):
        return None
    constant, factors = 0, dict[str, int]()
    for monomial, factor in difference.terms.items():
        match monomial:
            case ():
                constant = factor
            case (Symbol(name=name),):
                factors[name] = factor
            case _:
                return None
    is_small = abs(constant) + sum(map(abs, factors.values())) <= MAX_FACTORS
    return LengthEquation(constant, factors) if is_small else None
