"""What elementwise kernels are told apart by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sardonyx.compile.elementwise.layout import Way
from sardonyx.compile.loops.ir import Apply, Cast, Load, Local, Number, Scalar, Select, distinct
from sardonyx.dtypes import DataType


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor's element type, and where its next element in a row is."""

    dtype: DataType
    way: Way

    def __str__(self) -> str:
        return f"{self.dtype.text}.{self.way}"


@dataclass(frozen=True, slots=True)
class Form:
    """What the code of a kernel depends on.

    values: one for each output, of inputs `i0`, `i1`, ...  rank: how many dims there are outside of a row.

    The arguments: addresses of outputs and inputs; the length of a row; how many rows there are, and in a unit; the
    dims outside of a row but for the first; strides of each tensor along the dims outside of a row, then along the
    row for those that are "far".
    """

    values: tuple[Scalar, ...]
    outputs: tuple[Operand, ...]
    inputs: tuple[Operand, ...]
    rank: int

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.outputs + self.inputs

    @property
    def key(self) -> str:
        """Says all of it; values that are one object are written once."""
        types = ",".join(map(str, self.outputs)) + "<-" + ",".join(map(str, self.inputs))
        return f"elementwise/{self.rank} {types} {described(self.values)}"


def described(values: Sequence[Scalar]) -> str:
    """Values as assignments `0=add(i0,1.0)`, to numbers in the order in which they are worked out; results last."""
    names: dict[int, str] = {}
    lines: list[str] = []
    for value in values:
        for one in reversed(list(distinct(value))):
            if id(one) not in names:
                text = operation(one, names)
                names[id(one)] = text if isinstance(one, Local | Number) else str(len(lines))
                if not isinstance(one, Local | Number):
                    lines.append(f"{len(lines)}={text}")
    return ";".join([*lines, ",".join(names[id(value)] for value in values)])


def operation(value: Scalar, names: dict[int, str]) -> str:
    """One operation on values that have names already."""
    match value:
        case Number():
            return repr(value.value) + "n"
        case Local():
            return value.name
        case Apply():
            return f"{value.op}({','.join(names[id(a)] for a in value.args)})"
        case Cast():
            return f"{value.dtype.text}({names[id(value.value)]})"
        case Select():
            a, b, then, otherwise = (
                names[id(one)] for one in (value.a, value.b, value.then, value.otherwise)
            )
            return f"{value.op}({a},{b})?{then}:{otherwise}"
        case Load():
            raise AssertionError(f"{value} is no input of an elementwise kernel")
