"""Rows of elements in vectors: loops along a row, its end by a mask, sums that several registers share."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.walk import Dims, WalkText
from sardonyx._src.compile.text import Element, Kind, Value
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

UNROLLED = 4
WORK = 4096  # elements that make a unit of work
LOWEST = -math.inf
Body: TypeAlias = Callable[[Value, int, "Value | None"], None]
Fold: TypeAlias = Callable[[Value, Value], Value]


def rows_of_unit(n: Known) -> Known:
    """How many rows of n elements make a unit of work."""
    return dim_max(1, WORK // dim_max(n, 1))


def units(rows: Known, n: Known) -> Known:
    return ceil_div(rows, rows_of_unit(n))


def word(number: float) -> int:
    """A float32 as an argument of a kernel, which reads it by `RowsText.real`."""
    found: int = struct.unpack("<i", struct.pack("<f", number))[0]
    return found


class RowsText(WalkText):
    """The text of a kernel over rows; `element` is what they are of."""

    def __init__(self, target: Target, element: Element = "float") -> None:
        super().__init__(target.fused)
        self.element: Element = element
        self.lanes = max(target.lanes // (2 if element in ("double", "i64") else 1), 1)
        self.scalar, self.vector = Kind(element), Kind(element, self.lanes)
        self.zero = self.constant(0, I64)

    def real(self, index: int) -> Value:
        """The float32 whose bits stand at a place of the arguments."""
        place = self.address("%args", self.constant(index, I64), "i64")
        return self.emit(Kind("float"), f"load float, ptr {place}, align 8")

    def each_row(
        self, rows: Value, many: Value, dims: Dims, body: Callable[[Value, list[Value]], None]
    ) -> None:
        """The body for every row of these units, `many` rows each."""
        first, last = self.least(self.first * many, rows), self.least(self.last * many, rows)
        self.walk(dims, first, last, body)

    def along(self, n: Value, body: Body, many: int = UNROLLED) -> None:
        """A row in vectors: the body gets a place, the number of vectors from there on, and the mask of the last one."""
        done = self.zero
        for step in sorted({many, min(many, UNROLLED), 1}, reverse=True):
            done = self.vectors(done, n, step, body)
        if self.lanes > 1:
            self.when(done < n, lambda: body(done, 1, self.mask(n - done, self.lanes)))

    def vectors(self, first: Value, n: Value, many: int, body: Body) -> Value:
        """As many steps of some whole vectors as there is room for; answers where they ended."""
        return self.counted(first, n, many * self.lanes, lambda i: body(i, many, None), "at")

    # --- memory ------------------------------------------------------------------------------

    def row(self, base: str, offset: Value) -> str:
        """The name of the address some elements behind a base."""
        return self.address(base, offset, self.element)

    def fetched(self, base: str, at: Value, mask: Value | None, otherwise: float = 0) -> Value:
        """A vector of a row; other lanes than the mask's are as told."""
        place = self.row(base, at)
        if mask is None:
            return self.read(Slot(place, self.vector))
        return self.masked_load(place, mask, self.constant(otherwise, self.vector))

    def put(self, value: Value, base: str, at: Value, mask: Value | None) -> None:
        place = self.row(base, at)
        if mask is None:
            self.write(Slot(place, self.vector), value)
        else:
            self.masked_store(value, place, mask)

    # --- what a row comes to -------------------------------------------------------------------

    def gathers(self, start: float, many: int = UNROLLED) -> list[Slot]:
        """Registers that a row is taken together in, one for each of the vectors of a step."""
        slots = [self.new_slot("part", self.vector) for _ in range(many)]
        for slot in slots:
            self.write(slot, self.constant(start, self.vector))
        return slots

    def total(self, fold: Fold, parts: Sequence[Slot]) -> Value:
        """All parts and all their lanes taken together, in an order that never changes: a scalar."""
        found = [self.read(slot) for slot in parts]
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [fold(a, b) for a, b in pairs]
        return self.folded(fold, found[0])

    def greater(self, a: Value, b: Value) -> Value:
        """The greater of both, the second if either is NaN."""
        return self.select(a > b, a, b)

    def wide(self, value: Value) -> Value:
        return self.spread(value, self.lanes)
