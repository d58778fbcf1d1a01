"""Copies row by row, where a row is a run of bytes, one element over and over, or elements some bytes apart."""

from __future__ import annotations

from typing import Literal

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import BLOCK
from sardonyx._src.compile.moves.run import ELEMENTS, RunText
from sardonyx._src.compile.text import Kind, Value

How = Literal["runs", "splat", "strided"]


class RowText(RunText):
    """The text of a copy by rows; elements of runs are bytes.

    args: x, y, rows, rows of a unit, n, steps along a row of x and of y in bytes, dims of the rows in bytes.
    """

    def __init__(self, target: Target, how: How, size: int, rank: int) -> None:
        super().__init__(target)
        self.how, self.kind = how, Kind(ELEMENTS[size])
        self.sides = [self.pointer(0), self.pointer(1)]
        rows, many, n, *self.steps = (self.size(i) for i in range(2, 7))
        dims = self.dims(7, rank, 2)

        def unit(first: Value, end: Value, column: Value, count: Value) -> None:
            self.walk(dims, first, end, lambda _, offsets: self.row(offsets, column, count))

        self.shared(rows, many, n, BLOCK, unit)

    def row(self, offsets: list[Value], column: Value, count: Value) -> None:
        source, target = (
            self.place(side, offset + column * step)
            for side, offset, step in zip(self.sides, offsets, self.steps, strict=True)
        )
        if self.how == "runs":
            self.copied(source, target, count)
        elif self.how == "splat":
            self.filled(self.read(Slot(source, self.kind)), target, count)
        else:
            self.scattered(source, target, count)

    def scattered(self, source: str, target: str, count: Value) -> None:
        """Elements one by one."""

        def one(i: Value) -> None:
            found = self.read(Slot(self.place(source, i * self.steps[0]), self.kind))
            self.write(Slot(self.place(target, i * self.steps[1]), self.kind), found)

        self.counted(self.constant(0, I64), count, 1, one)
