"""Expressions: polynomials with integer coefficients over symbols and irreducible calls, in canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, NoReturn, TypeAlias

Op: TypeAlias = Literal["//", "%", "max", "min"]

MAX_TERMS = 64  # of one polynomial
MAX_SIZE = 256  # atoms of one expression, also inside calls; long names and large numbers count for several
MAX_DEPTH = 16  # calls inside calls


class Symbol(NamedTuple):
    """A named integer >= 0; any text is a name."""

    name: str


class Call(NamedTuple):
    """An operation that no rule reduces further; at least one argument is an `Expr`."""

    op: Op
    args: tuple[Known, ...]


class Opaque(NamedTuple):
    """What passed the limits of size, known by the digest of how it was made."""

    digest: str
    kind: str = "opaque"  # sets the tuple apart from a Symbol's


Atom: TypeAlias = Symbol | Call | Opaque
Monomial: TypeAlias = tuple[Atom, ...]  # sorted by `atom_key`, powers written out; () is that of the constant


class Expr:
    """A dim that depends on symbols: immutable, hashable, equal to every expression of the same canonical form.

    `+ - * // %` and unary `-` take an int or an `Expr` on either side; they answer an int when the result is
    constant.  Division follows Python: it rounds down, and an int 0 as divisor raises ZeroDivisionError.
    An expression has no truth value, as it may be zero.
    """

    __slots__ = ("_depth", "_hash", "_size", "_symbols", "_terms", "_text")
    __array_ufunc__ = None  # NumPy scalars are refused: they would wrap around as coefficients

    def __init__(self, terms: dict[Monomial, int]) -> None:
        """Takes over `terms`: canonical monomials, no zero coefficient, not constant.  See `symbol` and `parse`."""
        self._terms = terms
        self._hash: int | None = None
        self._symbols: frozenset[str] | None = None
        self._text: str | None = None
        self._size, self._depth = measure(terms)

    @property
    def terms(self) -> Mapping[Monomial, int]:
        """Coefficient by monomial."""
        return self._terms

    @property
    def size(self) -> int:
        """What `MAX_SIZE` limits."""
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
        """The text inside larger expressions, in which every name that is no identifier is quoted."""
        if self._text is None:
            from sardonyx._src.ir.dims.printing import (
                inner_text,
            )  # it reads expressions, so it imports this module

            self._text = inner_text(self)
        return self._text

    def symbols(self) -> frozenset[str]:
        """The names of all symbols; those of an opaque value are not known."""
        if self._symbols is None:
            from sardonyx._src.ir.dims.values import symbols

            self._symbols = symbols(self)
        return self._symbols

    def substitute(self, mapping: Mapping[str, Dim]) -> Dim:
        """The expression with dims, all >= 0, in place of symbols, all at once; other symbols stay.

        None when a dim that is needed is None, a divisor becomes zero, or a part is opaque.
        """
        from sardonyx._src.ir.dims.values import substitute

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
            f"{self} has no truth value, as it may be zero; ask known_equal, known_ge, or `is None`"
        )

    def __str__(self) -> str:
        from sardonyx._src.ir.dims.parsing import outer_text

        return outer_text(self)

    def __repr__(self) -> str:
        return f"from_param({str(self)!r})"

    def __reduce__(self) -> tuple[type[Expr], tuple[dict[Monomial, int]]]:
        return Expr, (self._terms,)  # without the hash, which another process would compute differently


Known: TypeAlias = int | Expr
Dim: TypeAlias = int | Expr | None


def symbol(name: str) -> Expr:
    """The symbol of that name, whatever the text: `symbol("N+M")` is a name and no sum."""
    return Expr({(Symbol(name),): 1})


def call(op: Op, *args: Known) -> Expr:
    """The call as an expression of its own; the caller has found that no rule reduces it."""
    expr = Expr({(Call(op, args),): 1})
    return expr if expr.size <= MAX_SIZE and expr.depth <= MAX_DEPTH else opaque(op, *args)


def opaque(op: str, *args: Known) -> Expr:
    """A value known only as the result of that operation on those arguments."""
    from hashlib import blake2b

    texts = [f"{arg:x}" if isinstance(arg, int) else f"({arg.text})" for arg in args]
    if op in ("+", "*"):
        texts.sort()
    made = f"{op} {' '.join(texts)}".encode("utf-8", "surrogatepass")
    return Expr({(Opaque(blake2b(made, digest_size=16).hexdigest()),): 1})


def atom_key(atom: Atom) -> tuple[bool, str]:
    """Where an atom stands in a monomial: symbols by name, then the others by text."""
    if isinstance(atom, Symbol):
        return False, atom.name
    from sardonyx._src.ir.dims.printing import atom_text

    return True, atom_text(atom)


def term_key(term: tuple[Monomial, int]) -> tuple[int, list[tuple[bool, str]]]:
    """Where a term stands among others: by degree, highest first, then by atoms (a graded lexical order)."""
    return -len(term[0]), [atom_key(atom) for atom in term[0]]


def lone_atom(dim: Known) -> Atom | None:
    """The atom that is the whole expression, if it is one."""
    if isinstance(dim, int) or len(dim.terms) > 1:
        return None
    ((monomial, coefficient),) = dim.terms.items()
    return monomial[0] if coefficient == 1 and len(monomial) == 1 else None


def measure(terms: dict[Monomial, int]) -> tuple[int, int]:
    """Size and depth of a polynomial, as `MAX_SIZE` and `MAX_DEPTH` count them."""
    size = depth = 0
    for monomial, coefficient in terms.items():
        size += coefficient.bit_length() >> 5
        for atom in monomial:
            if isinstance(atom, Call):
                size += 1
                for arg in atom.args:
                    if isinstance(arg, Expr):
                        size += arg.size
                        depth = max(depth, arg.depth + 1)
                    else:
                        size += arg.bit_length() >> 5
                        depth = max(depth, 1)
            else:
                size += 1 + (len(atom[0]) >> 4)
    return size, depth


def settle(terms: dict[Monomial, int], op: str, a: Known, b: Known) -> Known:
    """The polynomial `terms`, made as a op b; its coefficients are not zero."""
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    expr = Expr(terms)
    return expr if len(terms) <= MAX_TERMS and expr.size <= MAX_SIZE else opaque(op, a, b)


def combine(a: Expr, b: Known, sign: int) -> Known:
    """a + sign * b."""
    if isinstance(b, int):
        if b == 0:
            return a
        addends: dict[Monomial, int] = {(): b}
    else:
        addends = b._terms
    terms = a._terms.copy()
    for monomial, coefficient in addends.items():
        total = terms.get(monomial, 0) + sign * coefficient
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]
    return settle(terms, "+" if sign > 0 else "-", a, b)


def scale(a: Expr, factor: int) -> Known:
    """a * factor."""
    if factor == 1:
        return a
    terms = {monomial: factor * coefficient for monomial, coefficient in a.terms.items()} if factor else {}
    return settle(terms, "*", a, factor)


def multiply(a: Expr, b: Expr) -> Known:
    """a * b, multiplied out."""
    terms: dict[Monomial, int] = {}
    for left, p in a.terms.items():
        for right, q in b.terms.items():
            monomial = tuple(sorted(left + right, key=atom_key)) if left and right else left or right
            terms[monomial] = terms.get(monomial, 0) + p * q
    return settle({m: c for m, c in terms.items() if c}, "*", a, b)


def divide(op: Literal["//", "%"], a: Known, b: Known) -> Known:
    """a op b, or NotImplemented for an operand of another type."""
    if not isinstance(a, int | Expr) or not isinstance(b, int | Expr):
        return NotImplemented
    from sardonyx._src.ir.dims.division import (
        floordiv,
        mod,
    )  # built on expressions, so it imports this module

    return floordiv(a, b) if op == "//" else mod(a, b)
