"""Kernels that walk rows of several operands, whatever dims the rows are counted by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.moves.lanes import LaneText
from sardonyx._src.compile.text import Value


@dataclass(frozen=True, slots=True)
class Dims:
    """Sizes of dims, the innermost last, and what a step along each adds to the offset of each operand."""

    sizes: Sequence[Value]
    strides: Sequence[Sequence[Value]]


class WalkText(LaneText):
    """The text of a kernel whose rows are counted by several dims."""

    def dims(self, at: int, rank: int, operands: int) -> Dims:
        """What stands in the arguments from a place on, as `Layout.words` puts it there."""
        words = [self.size(at + i) for i in range(rank * (operands + 1))]
        strides = [words[rank * (1 + o) : rank * (2 + o)] for o in range(operands)]
        return Dims(words[:rank], strides)

    def walk(self, dims: Dims, first: Value, end: Value, body: Callable[[Value, list[Value]], None]) -> None:
        """The body for rows `first` up to `end`, given the row's number and the offset of each operand.

        Only the first row is found by division; asks for sizes above 0 where there is a row.
        """
        places = [self.new_slot("place", I64) for _ in dims.sizes]
        offsets = [self.new_slot("offset", I64) for _ in dims.strides]
        self.when(first < end, lambda: self._start(dims, first, places, offsets))

        def row(number: Value) -> None:
            body(number, [self.read(slot) for slot in offsets])
            self._advance(dims, len(dims.sizes) - 1, places, offsets)

        self.counted(first, end, 1, row, "row")

    def shared(
        self,
        rows: Value,
        many: Value,
        n: Value,
        block: int,
        body: Callable[[Value, Value, Value, Value], None],
    ) -> None:
        """Units of `many` rows and `block` columns: the body gets the first row, the end of them, the first column
        and how many columns there are."""
        blocks, _ = self.divided(n + (block - 1), self.constant(block, I64))

        def unit(number: Value) -> None:
            row, column = self.divided(number, blocks)
            first, start = row * many, column * block
            body(
                first, self.least(first + many, rows), start, self.least(n - start, self.constant(block, I64))
            )

        self.counted(self.first, self.last, 1, unit, "unit")

    def _start(self, dims: Dims, first: Value, places: list[Slot], offsets: list[Slot]) -> None:
        found = [self.constant(0, I64) for _ in offsets]
        rest = first
        for d in reversed(range(len(places))):
            place = rest
            if d:
                rest, place = self.divided(rest, dims.sizes[d])
            self.write(places[d], place)
            found = [one + place * strides[d] for one, strides in zip(found, dims.strides, strict=True)]
        for slot, value in zip(offsets, found, strict=True):
            self.write(slot, value)

    def _advance(self, dims: Dims, d: int, places: list[Slot], offsets: list[Slot]) -> None:
        """One step along a dim; behind its end back to its start and a step along the dim around it."""
        if d < 0:
            return
        for slot, strides in zip(offsets, dims.strides, strict=True):
            self.write(slot, self.read(slot) + strides[d])
        if d == 0:
            return
        self.write(places[d], self.read(places[d]) + 1)

        def wrap() -> None:
            self.write(places[d], self.constant(0, I64))
            for slot, strides in zip(offsets, dims.strides, strict=True):
                self.write(slot, self.read(slot) - strides[d] * dims.sizes[d])
            self._advance(dims, d - 1, places, offsets)

        self.when(self.read(places[d]).equals(dims.sizes[d]), wrap)
