"""What elementwise kernels are told apart by."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.elementwise.layout import Way
from sardonyx._src.compile.loops.ir import Scalar
from sardonyx._src.compile.loops.terms import described
from sardonyx._src.dtypes import DataType


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
