"""Kernels that read or write where indices say which are known at run time alone; each index is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import BLOCK
from sardonyx._src.compile.moves.run import ELEMENTS, RunText
from sardonyx._src.compile.text import Element, Kind, Value

Side = Literal["x", "y"]  # which of both the indices lead into
BYTES = 4 * BLOCK  # of a run, that make a unit of work


@dataclass(frozen=True, slots=True)
class Form:
    """What kernels are told apart by: the side that indices lead into, their type, how many make a tuple, dims of rows,
    and the bytes of a row if it is one element, 0 for runs of any length."""

    side: Side
    index: Element
    depth: int
    rank: int
    size: int

    @property
    def key(self) -> str:
        return f"pick_{self.side}_{self.index}_{self.depth}_{self.rank}_{self.size}"


class PickText(RunText):
    """The text of a copy of rows of bytes, of which one side lies where a tuple of indices says.

    args: x, y, indices, status, rows, rows of a unit, bytes of a row, from index to index of a tuple, then for each of
    these the size of its axis and the bytes from entry to entry; dims of the rows: bytes of x, bytes of y, indices.

    A negative index counts from the end.  Where one is out of bounds nothing is read, `status` becomes the greatest
    of 1 + its place in the indices, and y is zero there if the indices lead into x, else as it was.
    """

    def __init__(self, target: Target, form: Form) -> None:
        super().__init__(target)
        side, depth, size = form.side, form.depth, form.size
        self.side, self.index, self.size_of_row = side, Kind(form.index), size
        self.sides = [self.pointer(0), self.pointer(1)]
        self.indices, self.status = self.pointer(2), self.pointer(3)
        rows, many, n, self.step = (self.size(i) for i in range(4, 8))
        self.axes = [(self.size(8 + 2 * i), self.size(9 + 2 * i)) for i in range(depth)]
        dims = self.dims(8 + 2 * depth, form.rank, 3)

        def unit(first: Value, end: Value, column: Value, count: Value) -> None:
            self.walk(dims, first, end, lambda _, offsets: self.row(offsets, column, count))

        if side == "x" and not size:
            self.shared(rows, many, n, BYTES, unit)
        else:
            first, last = self.least(self.first * many, rows), self.least(self.last * many, rows)
            unit(first, last, self.constant(0, I64), n)

    def row(self, offsets: list[Value], column: Value, count: Value) -> None:
        place, is_good = self.found(offsets[2])
        chosen = ("x", "y").index(self.side)
        offsets = [o + column for o in offsets[:2]]
        offsets[chosen] = offsets[chosen] + place
        source, target = (self.place(base, o) for base, o in zip(self.sides, offsets, strict=True))
        self.when(is_good, lambda: self.moved(source, target, count))
        self.when(is_good.equals(0), lambda: self.refused(offsets, target, count, chosen))

    def found(self, at: Value) -> tuple[Value, Value]:
        """Where a tuple of indices leads, in bytes, and whether all of them are within their axes."""
        place, is_good = self.constant(0, I64), self.constant(1, Kind("i1"))
        for number, (size, stride) in enumerate(self.axes):
            index = self.read(
                Slot(self.address(self.indices, at + self.step * number, self.index.element), self.index)
            )
            if self.index != I64:
                index = index.converted("sext", "i64")
            index = self.select(index < 0, index + size, index)
            is_good = is_good & (index >= 0) & (index < size)
            place = place + index * stride
        self.position = at
        return place, is_good

    def moved(self, source: str, target: str, count: Value) -> None:
        if not self.size_of_row:
            self.copied(source, target, count)
            return
        for half in range(2 if self.size_of_row == 16 else 1):
            kind, offset = self.kind, self.constant(8 * half, I64)
            self.write(
                Slot(self.place(target, offset), kind), self.read(Slot(self.place(source, offset), kind))
            )

    @property
    def kind(self) -> Kind:
        """What a row is moved as if it is one element."""
        return Kind(ELEMENTS[min(self.size_of_row, 8)])

    def refused(self, offsets: list[Value], target: str, count: Value, chosen: int) -> None:
        mark = self.position + 1
        self.lines.append(f" atomicrmw max ptr {self.status}, {mark} monotonic, align 8")
        if self.side == "x":
            self.filled(self.constant(0, Kind("i8")), target, count)
