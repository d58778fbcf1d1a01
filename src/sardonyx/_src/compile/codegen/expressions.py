"""Scalar expressions: what elementwise kernels and epilogues compute for one element, as a typed DAG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType

Comparison = Literal["lt", "le", "eq"]
# The operations that are calls of vector functions (`math/table.py`); all others are a few instructions.
FUNCTION_CALLS = frozenset(
    "acos acosh asin asinh atan atanh celu cos cosh elu erf exp exp2 expm1 gelu log log1p mish pow rsqrt selu sigmoid "
    "silu sin sinh softplus tan tanh".split()
)


@dataclass(frozen=True, slots=True)
class Number:
    """An untyped constant; it takes the type of the other operands."""

    value: float


@dataclass(frozen=True, slots=True)
class Local:
    """A named operand of the kernel."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on operands of one type.

    - `lt`, `le`, `eq`, `isnan` and `isinf` return bools; comparisons with NaN are false.
    - `max` and `min` propagate NaN; `clamp(x, low, high)` returns low for NaN.
    - Integers wrap.  Their `div` rounds toward zero, `fmod` has the sign of the dividend, `mod` the sign of the
      divisor; all three return 0 for a divisor of 0.
    - `shl` and `shr` move every bit out if the count is negative, or not below the number of bits.
    - `and`, `or`, `xor` and `not` are logical on bools, bitwise on integers.
    - `ipow` is a power of integers modulo 2**bits; its exponent is unsigned.
    - `fma` is a*b + c; `where(condition, a, b)` selects.
    - `decode_...` is the float32 of a minifloat's code, `encode_...` the code of a number (`minifloats.py`).
    """

    op: str
    args: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to another element type.

    Floats are rounded toward zero to int32 (int64 for uint32 and 64-bit types), of which the low bits are kept.  A
    float outside the range of int32 (int64) becomes its lowest integer.
    """

    dtype: DataType
    value: Scalar


@dataclass(frozen=True, slots=True)
class Select:
    """`then` where the comparison `op` of a and b holds, otherwise `otherwise`; comparisons with NaN are false."""

    op: Comparison
    a: Scalar
    b: Scalar
    then: Scalar
    otherwise: Scalar


Scalar: TypeAlias = Number | Local | Apply | Cast | Select


def operands(value: Scalar) -> tuple[Scalar, ...]:
    """The direct operands of a node."""
    match value:
        case Apply():
            return value.args
        case Cast():
            return (value.value,)
        case Select():
            return value.a, value.b, value.then, value.otherwise
        case _:
            return ()


def topological_order(*values: Scalar) -> Iterator[Scalar]:
    """The nodes of expressions that may share parts, each object once, users before their operands."""
    order: list[Scalar] = []
    seen: set[int] = set()
    pending: list[tuple[Scalar, bool]] = [(value, False) for value in values]
    while pending:
        node, is_expanded = pending.pop()
        if is_expanded:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            pending.append((node, True))
            pending += [(operand, False) for operand in operands(node)]
    return reversed(order)
