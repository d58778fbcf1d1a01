"""Sums, means and deviations of rows, and what is written of a row."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Load, Local
from sardonyx._src.compile.rows.vectors import RowsText
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.compile.text import Kind, Value


class StatisticsText(RowsText):
    """The text of a kernel that brings rows of float32 to a mean of 0 or a square of 1."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.operands: list[tuple[str, Value | None]] = []

    def summed(self, n: Value, term: Callable[[Value, Value | None], Value]) -> Value:
        """The sum of what `term` makes of each vector of a row, as a scalar."""
        parts = self.gathers(0)

        def body(i: Value, many: int, mask: Value | None) -> None:
            for v, part in enumerate(parts[:many]):
                found = term(i + v * self.lanes, mask)
                if mask is not None:
                    found = self.select(mask, found, self.constant(0, self.vector))
                self.write(part, self.read(part) + found)

        self.along(n, body)
        return self.total(lambda a, b: a + b, parts)

    def mean(self, n: Value, term: Callable[[Value, Value | None], Value]) -> Value:
        """That sum over the number of elements."""
        return self.summed(n, term) / n.converted("sitofp", "float")

    def squares(self, n: Value, base: str, centre: Value) -> Value:
        """The mean of the squares of what a row has less a centre; the centre is a vector."""

        def term(at: Value, mask: Value | None) -> Value:
            deviation = self.fetched(base, at, mask) - centre
            return deviation * deviation

        return self.mean(n, term)

    def inverse(self, square: Value, epsilon: Value) -> Value:
        """1 / sqrt(square + epsilon), of scalars."""
        return 1 / self.intrinsic("sqrt", square + epsilon)

    # --- tails -------------------------------------------------------------------------------

    def read_operands(self, tail: Tail, at: int) -> int:
        """Takes the operands of a tail out of the arguments; answers where those go on."""
        for how in tail.operands:
            matrix = how == "matrix"
            self.operands.append((self.pointer(at), self.size(at + 1) if matrix else None))
            at += 2 if matrix else 1
        return at

    def finished(self, tail: Tail, value: Value, row: Value, at: Value, mask: Value | None) -> Value:
        """What a tail makes of a vector that begins at a place of a row."""

        def leaf(named: Local | Load) -> Value:
            if named == RESULT:
                return value
            assert isinstance(named, Local), f"{named} is no operand of a tail"
            index = int(named.name.removeprefix("o"))
            base, pitch = self.operands[index]
            if tail.operands[index] == "scalar":
                return self.wide(self.read(Slot(base, Kind("float"))))
            return self.fetched(base, at if pitch is None else row * pitch + at, mask)

        return self.evaluated(tail.value, self.vector, leaf)
