"""What becomes of a result before it is written: elementwise operations that a kernel does on its way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.loops.ir import Local, Scalar
from sardonyx._src.compile.loops.terms import described
from sardonyx._src.compile.step import Arg
from sardonyx._src.compile.tensor import Tensor

How = Literal["scalar", "column", "matrix"]
RESULT = Local("x")


@dataclass(frozen=True, slots=True)
class Tail:
    """An expression of the result, `Local("x")`, and of further operands, `Local("o0")`, `Local("o1")`, ...

    operands: how each is laid out beside the result, rows of columns: one number ("scalar", an argument: address), one
    for each column ("column", an argument: address of as many as there are columns, in a row), or one for each
    element ("matrix", two arguments: address, pitch of rows).
    """

    value: Scalar = RESULT
    operands: tuple[How, ...] = ()

    @property
    def key(self) -> str:
        """What kernels with this tail are told apart by."""
        return written(self)


def written(tail: Tail) -> str:
    """The expression of a tail, and how its operands lie."""
    return f"{described([tail.value])}:{','.join(tail.operands)}"


def arguments(tail: Tail, operands: tuple[Tensor, ...]) -> tuple[Arg, ...]:
    """The arguments of a kernel for the operands of a tail, in order."""
    found: list[Arg] = []
    for how, operand in zip(tail.operands, operands, strict=True):
        found.append(operand)
        if how == "matrix":
            assert operand.pitch is not None, f"{operand} has no rows of one pitch"
            found.append(operand.pitch)
    return tuple(found)
