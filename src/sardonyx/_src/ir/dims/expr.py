"""Expressions: polynomials with integer coefficients over symbols and irreducible calls, in canonical form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NoReturn, TypeAlias

from sardonyx._src.ir.dims.atoms import Atom, Monomial, Symbol, leaves, lone_atom
from sardonyx._src.ir.dims.division import floordiv, mod
from sardonyx._src.ir.dims.intervals import Interval, sum_interval
from sardonyx._src.ir.dims.polynomials import combine, measure, multiply, scale
from sardonyx._src.ir.dims.printing import IDENTIFIER, inner_text
from sardonyx._src.ir.dims.substitution import substitute

# What exporters write as `dim_param` for an unknown size.
PLACEHOLDER = re.compile(r"|\?|\*|None|-1|unk__\d+", re.ASCII)


class Expr:
    """A dim that depends on symbols: immutable, hashable, equal to every expression of the same canonical form.

    `+ - * // %` and unary `-` take an int or an `Expr` on either side; they return an int when the result is
    constant.  Division follows Python: it rounds down, and an int 0 as divisor raises ZeroDivisionError.
    An expression has no truth value, as it may be zero.
    """

    __slots__ = ("_depth", "_hash", "_interval", "_size", "_symbols", "_terms", "_text")
    __array_ufunc__ = None  # NumPy scalars are rejected: they would wrap around as coefficients

    def __init__(self, terms: dict[Monomial, int]) -> None:
        """terms: canonical monomials with nonzero coefficients, at least one not constant; not copied.

        Use `symbol` and `parse` to construct expressions.
        """
        self._terms = terms
        self._hash: int | None = None
        self._interval: Interval | None = None
        self._symbols: frozenset[str] | None = None
        self._text: str | None = None
        self._size, self._depth = measure(terms)

    def with_terms(self, terms: dict[Monomial, int]) -> Expr:
        """`Expr(terms)`, for modules that cannot import this class since this module imports them."""
        return Expr(terms)

    @property
    def terms(self) -> Mapping[Monomial, int]:
        """Coefficient by monomial."""
        return self._terms

    @property
    def size(self) -> int:
        """The size limited by `polynomials.MAX_SIZE`."""
        return self._size

    @property
    def depth(self) -> int:
        """Levels of calls inside calls; 0 for a polynomial over symbols."""
        return self._depth

    @property
    def constant(self) -> int:
        """The coefficient of the constant term."""
        return self._terms.get((), 0)

    @property
    def text(self) -> str:
        """The text for use inside larger expressions: names that are not identifiers are quoted."""
        if self._text is None:
            self._text = inner_text(self)
        return self._text

    @property
    def interval(self) -> Interval:
        """Bounds for all values of the symbols, with atoms treated as independent (`intervals.py`)."""
        if self._interval is None:
            self._interval = sum_interval(self._terms)
        return self._interval

    def symbols(self) -> frozenset[str]:
        """The names of all symbols, except those in opaque values, which are not known."""
        if self._symbols is None:
            self._symbols = frozenset(atom.name for atom in leaves(self) if isinstance(atom, Symbol))
        return self._symbols

    def substitute(self, mapping: Mapping[str, Dim]) -> Dim:
        """The expression with symbols replaced simultaneously by dims, all >= 0; symbols not in the mapping are kept.

        None when a symbol that occurs maps to None, a divisor becomes zero, or a part is opaque.
        """
        return substitute(self, mapping)

    def __add__(self, other: Known) -> Known:
        return combine(self, other, 1) if isinstance(other, int | Expr) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Known) -> Known:
        return combine(self, other, -1) if isinstance(other, int | Expr) else NotImplemented

    def __rsub__(self, other: Known) -> Known:
        return -self + other

    def __neg__(self) -> Known:
        return scale(self, -1)

    def __mul__(self, other: Known) -> Known:
        if isinstance(other, int):
            return scale(self, other)
        return multiply(self, other) if isinstance(other, Expr) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Known) -> Known:
        return divide("//", self, other)

    def __rfloordiv__(self, other: Known) -> Known:
        return divide("//", other, self)

    def __mod__(self, other: Known) -> Known:
        return divide("%", self, other)

    def __rmod__(self, other: Known) -> Known:
        return divide("%", other, self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expr):
            return NotImplemented
        return hash(self) == hash(other) and self._terms == other._terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._terms.items()))
        return self._hash

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self} has no truth value, as it may be zero; use known_equal, known_ge, or `is None`"
        )

    def __str__(self) -> str:
        return outer_text(self)

    def __repr__(self) -> str:
        return f"from_param({str(self)!r})"

    def __reduce__(self) -> tuple[type[Expr], tuple[dict[Monomial, int]]]:
        return Expr, (self._terms,)  # without the hash, which another process would compute differently


Known: TypeAlias = int | Expr
Dim: TypeAlias = int | Expr | None


def symbol(name: str, *, low: int = 0) -> Expr:
    """The symbol with this name, which may be any string: `symbol("N+M")` is a symbol and no sum.

    low: its least value, >= 0.  Symbols of the same name with different least values are different.
    """
    return Expr({(Symbol(name, low),): 1})


def atom_expr(atom: Atom) -> Expr:
    """The atom as an expression."""
    return Expr({(atom,): 1})


def divide(op: Literal["//", "%"], a: Known, b: Known) -> Known:
    """a op b, or NotImplemented for an operand of another type."""
    if not isinstance(a, int | Expr) or not isinstance(b, int | Expr):
        return NotImplemented
    return floordiv(a, b) if op == "//" else mod(a, b)


def parse(text: str) -> Known:
    """The dim that a text denotes in the syntax of canonical texts, which it need not be itself: "N+N" is 2*N.

    Raises ValueError for any other text, for a division by the number 0, and for a text that exceeds
    `parsing.MAX_TEXT` or `MAX_NESTING`.
    """
    from sardonyx._src.ir.dims.parsing import DimParser  # lazy: few dims are parsed

    return DimParser(text, atom_expr).whole()


@lru_cache(maxsize=1024)  # the values of a graph have few different dims, and long texts
def from_param(text: str) -> Expr:
    """The meaning of a `dim_param`: an expression if the text is its canonical text, else the symbol with this name.

    A number is a name, too, since files store numbers in `dim_value`.  The text of the result is always `text`.
    """
    if IDENTIFIER.fullmatch(text):
        return symbol(text)
    try:
        dim = parse(text)
    except ValueError:
        return symbol(text)
    return dim if isinstance(dim, Expr) and str(dim) == text else symbol(text)


def is_placeholder(text: str) -> bool:
    """Whether a `dim_param` is a placeholder that exporters write for an unknown size: equal ones need not be equal sizes.

    "*" is a placeholder from IR version 4 on; before, it stands for any number of dims.
    """
    return PLACEHOLDER.fullmatch(text) is not None


def outer_text(expr: Expr) -> str:
    """The text of a whole dim: a single symbol is written without quotes, unless its name is another expression's text."""
    atom = lone_atom(expr)
    if not isinstance(atom, Symbol) or IDENTIFIER.fullmatch(atom.name):
        return expr.text
    return atom.name if from_param(atom.name) == expr else expr.text
