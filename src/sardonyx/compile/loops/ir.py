"""Loops: what a kernel does, before it is said in a machine's words.

A kernel has buffers of elements in a row, integer sizes that are known when it is called, and a body of loops.  Places
in buffers are `Dim`s over sizes and loop variables, so that bounds can be proved and strides be read off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sardonyx.dtypes import DataType
from sardonyx.ir.dims import Expr

Place: TypeAlias = "int | Expr"
Role = Literal["in", "out", "scratch"]
Unary = Literal["neg", "abs", "sqrt", "exp", "log", "tanh", "erf", "sigmoid", "floor", "ceil", "round"]
Binary = Literal["add", "sub", "mul", "div", "max", "min", "pow"]
Comparison = Literal["lt", "le", "eq"]
UNARY: tuple[Unary, ...] = (
    "neg", "abs", "sqrt", "exp", "log", "tanh", "erf", "sigmoid", "floor", "ceil", "round",
)  # fmt: skip
BINARY: tuple[Binary, ...] = ("add", "sub", "mul", "div", "max", "min", "pow")
COMPARISONS: tuple[Comparison, ...] = ("lt", "le", "eq")


@dataclass(frozen=True, slots=True)
class Buffer:
    """Elements in a row; `size` counts them."""

    name: str
    dtype: DataType
    size: Place
    role: Role


# --- values ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    """A constant, exactly as a float holds it."""

    value: float


@dataclass(frozen=True, slots=True)
class Local:
    """What was last put under a name, inside the loops around."""

    name: str


@dataclass(frozen=True, slots=True)
class Load:
    """The element of a buffer at a place."""

    buffer: str
    at: Place


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on values; `max` and `min` hand on NaN."""

    op: Unary | Binary
    args: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Select:
    """One of two values, as `a` and `b` compare; nothing compares with NaN."""

    op: Comparison
    a: Scalar
    b: Scalar
    then: Scalar
    otherwise: Scalar


Scalar: TypeAlias = Number | Local | Load | Apply | Select

# --- statements ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Put:
    """Puts a value under a name; a name that a loop around already knows is changed there."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Store:
    """Writes a value into a buffer."""

    buffer: str
    at: Place
    value: Scalar


@dataclass(frozen=True, slots=True)
class For:
    """The body for `variable` from 0 up to `extent`.

    `vector` loops may do several iterations at once: no iteration depends on another one, but for names that are
    changed in the form name = op(name, value) with op add, mul, max or min, which are taken together at the end.
    """

    variable: str
    extent: Place
    body: tuple[Statement, ...]
    vector: bool = False


Statement: TypeAlias = Put | Store | For


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function over buffers and sizes."""

    name: str
    buffers: tuple[Buffer, ...]
    sizes: tuple[str, ...]
    body: tuple[Statement, ...]

    def buffer(self, name: str) -> Buffer:
        return next(b for b in self.buffers if b.name == name)


def operands(value: Scalar) -> tuple[Scalar, ...]:
    """The values that a value is made of."""
    match value:
        case Apply():
            return value.args
        case Select():
            return value.a, value.b, value.then, value.otherwise
        case _:
            return ()


def inside(value: Scalar) -> Iterator[Scalar]:
    """A value and all that it is made of."""
    pending = [value]
    while pending:
        one = pending.pop()
        yield one
        pending.extend(operands(one))
