"""Kernels that find where the greatest or the least element of a row is: every lane keeps its best and its place."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.rows.folds import INTEGERS, LEAST
from sardonyx._src.compile.rows.vectors import RowsText
from sardonyx._src.compile.text import Element, Kind, Value

WIDE = 256  # columns of a unit


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for among elements of a type."""

    element: Element
    greatest: bool
    last: bool

    @property
    def key(self) -> str:
        return f"{self.element}_{'max' if self.greatest else 'min'}_{'last' if self.last else 'first'}"

    @property
    def start(self) -> float:
        """What every element is at least as good as."""
        if self.element in INTEGERS:
            low = LEAST[self.element]
            return low if self.greatest else -low - 1
        return -math.inf if self.greatest else math.inf


class ArgText(RowsText):
    """What both forms share."""

    def __init__(self, target: Target, search: Search) -> None:
        super().__init__(target, search.element)
        self.search = search
        self.places = Kind("i64", self.lanes)
        self.x, self.y = self.pointer(0), self.pointer(1)

    def begun(self) -> tuple[Slot, Slot]:
        """The best element of each lane, and its place."""
        best, place = self.new_slot("best", self.vector), self.new_slot("place", self.places)
        self.write(best, self.constant(self.search.start, self.vector))
        self.write(place, self.constant(0, self.places))
        return best, place

    def weighed(self, best: Slot, place: Slot, value: Value, at: Value, mask: Value | None) -> None:
        """Puts elements in the place of those that they are better than, lane by lane."""
        before = self.read(best)
        is_better = self.better(value, before)
        if self.search.last:
            is_better = is_better | self.same(value, before)
        if mask is not None:
            is_better = is_better & mask
        self.write(best, self.select(is_better, value, before))
        self.write(place, self.select(is_better, at, self.read(place)))

    def better(self, a: Value, b: Value) -> Value:
        """Where a is beyond b; NaN is beyond all numbers."""
        beyond = a > b if self.search.greatest else a < b
        return beyond | (a.differs(a) & b.equals(b)) if a.kind.is_float else beyond

    def same(self, a: Value, b: Value) -> Value:
        equal = a.equals(b)
        return equal | (a.differs(a) & b.differs(b)) if a.kind.is_float else equal

    def chosen(self, best: Value, place: Value) -> Value:
        """The place of the best lane: halves are compared with halves."""
        while best.kind.lanes > 1:
            half = best.kind.lanes // 2
            low, high = range(half), range(half, 2 * half)
            a, b = self.shuffled(best, best, low), self.shuffled(best, best, high)
            i, j = self.shuffled(place, place, low), self.shuffled(place, place, high)
            nearer = j > i if self.search.last else j < i
            takes = self.better(b, a) | (self.same(a, b) & nearer)
            best, place = self.select(takes, b, a), self.select(takes, j, i)
        return place


class RowArgText(ArgText):
    """The text of a search along rows.

    args: x, y, rows, rows of a unit, n, step along the row, dims of the rows.
    """

    def __init__(self, target: Target, search: Search, rank: int, *, in_a_row: bool) -> None:
        super().__init__(target if in_a_row else replace(target, lanes=1), search)
        rows, many, self.n, self.step = (self.size(i) for i in range(2, 6))
        self.in_a_row = in_a_row
        self.each_row(rows, many, self.dims(6, rank, 2), self.searched)

    def searched(self, _: Value, offsets: list[Value]) -> None:
        source, target = self.row(self.x, offsets[0]), self.address(self.y, offsets[1], "i64")
        best, place = self.begun()

        def body(i: Value, _: int, mask: Value | None) -> None:
            value = self.fetched(source, i if self.in_a_row else i * self.step, mask)
            self.weighed(best, place, value, self.counting(i), mask)

        self.along(self.n, body, 1)
        self.write(Slot(target, I64), self.chosen(self.read(best), self.read(place)))

    def counting(self, first: Value) -> Value:
        """A place and those that follow it, one a lane."""
        if self.lanes == 1:
            return first
        numbers = ", ".join(f"i64 {i}" for i in range(self.lanes))
        return self.wide(first) + Value(self, self.places, f"<{numbers}>")


class ColumnArgText(ArgText):
    """The text of a search along columns that lie side by side.

    args: x, y, rows, rows of a unit, columns, n, step along a column, dims of the rows.
    """

    def __init__(self, target: Target, search: Search, rank: int) -> None:
        super().__init__(target, search)
        rows, many, columns, self.n, self.step = (self.size(i) for i in range(2, 7))
        dims = self.dims(7, rank, 2)

        def unit(first: Value, end: Value, column: Value, count: Value) -> None:
            def row(_: Value, offsets: list[Value]) -> None:
                source = self.row(self.x, offsets[0] + column)
                target = self.address(self.y, offsets[1] + column, "i64")
                self.along(count, lambda i, _, mask: self.block(source, target, i, mask), 1)

            self.walk(dims, first, end, row)

        self.shared(rows, many, columns, WIDE, unit)

    def block(self, source: str, target: str, i: Value, mask: Value | None) -> None:
        best, place = self.begun()

        def entry(k: Value) -> None:
            value = self.fetched(source, i + k * self.step, mask)
            self.weighed(best, place, value, self.wide(k), None)

        self.counted(self.zero, self.n, 1, entry, "k")
        address, places = self.address(target, i, "i64"), self.read(place)
        if mask is None:
            self.write(Slot(address, self.places), places)
        else:
            self.masked_store(places, address, mask)
