"""What dimension variables must be worth for a model's declarations to hold: equations, taken one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field

from sardonyx._src.ir.dims import Dim, Expr, Known, bounds
from sardonyx._src.ir.dims.expr import Symbol, lone_atom

LARGEST = 64  # terms of an expression that is looked at


@dataclass(slots=True)
class Equations:
    """Variables with what they have turned out to be."""

    known: dict[str, Dim] = field(default_factory=dict)

    def inner(self) -> Equations:
        """Those of a subgraph, which must hold together with these."""
        return Equations(dict(self.known))

    def contradiction(self, declared: Dim, found: Dim) -> tuple[Known, Known] | None:
        """Takes in that two sizes are the same; where no values allow that, what is known of the two."""
        if declared is None or found is None or declared == found:
            return None
        left, right = self.settled(declared), self.settled(found)
        if left is None or right is None:
            return None
        return None if self.can_be(left, right) else (left, right)

    def can_be(self, left: Known, right: Known) -> bool:
        """Takes in that two settled sizes are the same, if they can be."""
        rest = left - right
        if isinstance(rest, int):
            return rest == 0
        low, high = bounds(rest)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        return rest.size > LARGEST or self.solve(left, right, rest)

    def settled(self, dim: Known) -> Dim:
        """A size with the known variables replaced, for as long as that changes anything."""
        for _ in range(8):
            if isinstance(dim, int) or self.known.keys().isdisjoint(dim.symbols()):
                return dim
            replaced = dim.substitute(self.known)
            if replaced is None:
                return None
            dim = replaced
        return None

    def solve(self, left: Known, right: Known, rest: Expr) -> bool:
        """Notes what `rest`, the difference of two sizes, says of a variable if it is 0; tells whether it can be."""
        line = line_of(rest)
        if line is not None:
            name, factor = line
            value, remainder = divmod(-rest.constant, factor)
            if remainder or value < 0:
                return False
            self.known[name] = value
            return True
        for one, other in ((right, left), (left, right)):
            variable = name_of(one)
            if variable is not None and (isinstance(other, int) or variable not in other.symbols()):
                self.known[variable] = other
                break
        return True


def line_of(dim: Expr) -> tuple[str, int] | None:
    """Variable and factor in `factor * variable + constant`; None for another expression."""
    terms = [(monomial, factor) for monomial, factor in dim.terms.items() if monomial]
    if len(terms) != 1 or len(terms[0][0]) != 1:
        return None
    ((atom,), factor) = terms[0]
    return (atom.name, factor) if isinstance(atom, Symbol) else None


def name_of(dim: Known) -> str | None:
    """The name of a size that is one variable."""
    atom = lone_atom(dim)
    return atom.name if isinstance(atom, Symbol) else None
