"""Unification of dimension variables: equations between sizes, added one at a time."""

from __future__ import annotations

from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Dim, Expr, Known, bounds
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom

MAX_EQUATION_TERMS = 64  # terms of an equation that is solved


@dataclass(slots=True)
class Equations:
    """A system of equations; known: the dimension variables that it determines, with their values."""

    known: dict[str, Dim] = field(default_factory=dict)

    def inner(self) -> Equations:
        """A copy for a subgraph, whose equations must hold together with these."""
        return Equations(dict(self.known))

    def contradiction(self, declared: Dim, inferred: Dim) -> tuple[Known, Known] | None:
        """Adds the equation of two sizes; if it has no solution, returns the two with known variables replaced."""
        if declared is None or inferred is None or declared == inferred:
            return None
        left, right = self.substitute(declared), self.substitute(inferred)
        if left is None or right is None:
            return None
        return None if self.unify(left, right) else (left, right)

    def unify(self, left: Known, right: Known) -> bool:
        """Adds the equation of two sizes with known variables replaced; returns whether it can hold."""
        rest = left - right
        if isinstance(rest, int):
            return rest == 0
        low, high = bounds(rest)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        return rest.size > MAX_EQUATION_TERMS or self.solve(left, right, rest)

    def substitute(self, dim: Known) -> Dim:
        """A size with the known variables replaced, repeatedly; None if that does not terminate or overflows."""
        for _ in range(8):
            if isinstance(dim, int) or self.known.keys().isdisjoint(dim.symbols()):
                return dim
            replaced = dim.substitute(self.known)
            if replaced is None:
                return None
            dim = replaced
        return None

    def solve(self, left: Known, right: Known, rest: Expr) -> bool:
        """Solves `rest` = 0 for a variable if possible; returns whether it can hold.  rest: the difference of the two sizes."""
        linear = linear_form(rest)
        if linear is not None:
            name, factor = linear
            value, remainder = divmod(-rest.constant, factor)
            if remainder or value < 0:
                return False
            self.known[name] = value
            return True
        for size, other in ((right, left), (left, right)):
            variable = variable_name(size)
            if variable is not None and (isinstance(other, int) or variable not in other.symbols()):
                self.known[variable] = other
                break
        return True


def linear_form(dim: Expr) -> tuple[str, int] | None:
    """Variable and factor of `factor * variable + constant`; None for other expressions."""
    terms = [(monomial, factor) for monomial, factor in dim.terms.items() if monomial]
    if len(terms) != 1 or len(terms[0][0]) != 1:
        return None
    ((atom,), factor) = terms[0]
    return (atom.name, factor) if isinstance(atom, Symbol) else None


def variable_name(dim: Known) -> str | None:
    """The name of a size that is a single variable, else None."""
    atom = lone_atom(dim)
    return atom.name if isinstance(atom, Symbol) else None
