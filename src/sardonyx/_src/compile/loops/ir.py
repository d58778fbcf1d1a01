"""Loops: what a kernel does, before it is said in a machine's words.

A kernel has buffers of elements in a row, integer sizes that are known when it is called, and a body of loops.  Places
in buffers are `Dim`s over sizes and loop variables, so that bounds can be proved and strides be read off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Expr

Place: TypeAlias = "int | Expr"
Role = Literal["in", "out", "scratch"]
Comparison = Literal["lt", "le", "eq"]
COMPARISONS: tuple[Comparison, ...] = ("lt", "le", "eq")
ARITY: dict[str, int] = {
    **dict.fromkeys((
        "neg", "abs", "sign", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round", "trunc",
        "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tanh", "erf",
        "sigmoid", "silu", "softplus", "mish", "gelu", "isnan", "isinf", "not",
    ), 1),
    **dict.fromkeys((
        "add", "sub", "mul", "div", "mod", "fmod", "max", "min", "pow", "elu", "celu",
        "lt", "le", "eq", "and", "or", "xor",
    ), 2),
    **dict.fromkeys(("fma", "where", "selu", "clamp"), 3),
}  # fmt: skip


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
    """A constant, of the type of the values beside it."""

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
    """An operation on values of one type, one of `ARITY`; `lt`, `le`, `eq`, `isnan` and `isinf` make bools.

    `max` and `min` hand on NaN, and nothing compares with it.  Integers wrap around; `div` of them rounds toward zero,
    `fmod` has the sign of the first, `mod` that of the second, and dividing by zero leaves 0 of all three.  `and`,
    `or`, `xor` and `not` take bools or the bits of integers.  `where` picks by a bool.  `fma` is a*b + c.
    `clamp` is x held between a low and a high number, and the low one where x is NaN.
    """

    op: str
    args: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A value as another type.

    Floats lose their fraction on the way to integers.  Beyond int32 (int64 for uint32 and 64 bits) they become its
    lowest number, of which the low bits are kept.
    """

    dtype: DataType
    value: Scalar


@dataclass(frozen=True, slots=True)
class Select:
    """One of two values, as `a` and `b` compare; nothing compares with NaN."""

    op: Comparison
    a: Scalar
    b: Scalar
    then: Scalar
    otherwise: Scalar


Scalar: TypeAlias = Number | Local | Load | Apply | Cast | Select

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
    The iterations of a `parallel` loop, which has none around it, are the kernel's units of work.
    """

    variable: str
    extent: Place
    body: tuple[Statement, ...]
    vector: bool = False
    parallel: bool = False


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

    @property
    def units(self) -> Place:
        """How many units of work there are: iterations of the parallel loop, or the whole."""
        return next((s.extent for s in self.body if isinstance(s, For) and s.parallel), 1)


def operands(value: Scalar) -> tuple[Scalar, ...]:
    """The values that a value is made of."""
    match value:
        case Apply():
            return value.args
        case Cast():
            return (value.value,)
        case Select():
            return value.a, value.b, value.then, value.otherwise
        case _:
            return ()


def distinct(value: Scalar) -> Iterator[Scalar]:
    """A value and all that it is made of, each object once and before what it is made of."""
    order: list[Scalar] = []
    seen: set[int] = set()
    pending: list[tuple[Scalar, bool]] = [(value, False)]
    while pending:
        one, done = pending.pop()
        if done:
            order.append(one)
        elif id(one) not in seen:
            seen.add(id(one))
            pending.append((one, True))
            pending += [(operand, False) for operand in operands(one)]
    return reversed(order)
