"""Tails of integer products: expressions of sums of 32 bits, with operands and results of several types."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.tail import Tail, written
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType


@dataclass(frozen=True, slots=True)
class IntegerTail(Tail):
    """types: of the operands.  to: of what is written.  rows: numbers of operands that have one number for each row.

    Such an operand counts as a matrix, as `of_rows` makes it.
    """

    types: tuple[DataType, ...] = ()
    to: DataType = DataType.INT32
    rows: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        types = ",".join(one.text for one in self.types)
        return f"{written(self)}:{types}:{self.to.text}:{','.join(map(str, self.rows))}"


def of_rows(numbers: Tensor, result: Tensor) -> Tensor:
    """A number for each row of a result, [...], as a matrix of its dims of which only the first column is there."""
    assert numbers.shape == result.shape[:-1], f"{numbers} beside rows of {result}"
    return replace(numbers, shape=result.shape, strides=(*numbers.strides, 1))
