"""Where sums go once they are whole: the result, what its tail takes, and the arguments that say so."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.step import Arg
from sardonyx._src.compile.tail import How, Tail, arguments
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value


@dataclass(frozen=True, slots=True)
class Operand:
    """Of a tail: the address of its first element, and of a matrix the pitch of rows."""

    how: How
    address: str
    pitch: Value | None


@dataclass(frozen=True, slots=True)
class Result:
    """Where rows of a result are, `pitch` floats apart, and what its tail takes beside it."""

    address: str
    pitch: Value
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """What becomes of the sums of a tile: they are written to `result`, from `row` and `column` on up to column `end`.

    kept: an address where the sums of a whole tile may be meanwhile, if not a place of the tile's own.  is_last: if not,
    they are kept and not written.
    """

    result: Result
    row: Value
    column: Value
    end: Value
    kept: str = ""
    is_last: Value | None = None


def result_arguments(y: Tensor, tail: Tail, operands: tuple[Tensor, ...]) -> tuple[Arg, ...]:
    """The arguments that `Micro.result` reads: address, pitch, and those of the tail."""
    assert y.pitch is not None, f"{y} has no rows of one pitch"
    return (y, y.pitch, *arguments(tail, operands))
