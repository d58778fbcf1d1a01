"""Copies that turn rows into columns: blocks of elements transposed in registers."""

from __future__ import annotations

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.run import ELEMENTS, RunText
from sardonyx._src.compile.text import Kind, Value

WIDE = 1024  # columns of y in a unit of work
HIGH = 16  # rows of y in a band: floats of a line of the cache of x, whose rows are columns of y


class BandText(RunText):
    """The text of a copy by bands: `HIGH` rows of y, each n long, which are that many columns of x.

    args: x, y, bands, bands of a unit, n, steps from row to row of x and of y in bytes, all rows across a band's,
    dims of the bands: bytes of x, bytes of y, the number of the first row.
    """

    def __init__(self, target: Target, size: int, rank: int) -> None:
        super().__init__(target)
        self.kind = Kind(ELEMENTS[size])
        self.width = size
        self.side = min(HIGH, max(16 if size == 1 else target.lanes * 4 // size, 1))
        self.wide = Kind(self.kind.element, self.side)
        self.x, self.y = self.pointer(0), self.pointer(1)
        bands, many, n, self.from_, self.to, self.height = (self.size(i) for i in range(2, 8))
        dims = self.dims(8, rank, 3)

        def unit(first: Value, end: Value, column: Value, count: Value) -> None:
            self.walk(dims, first, end, lambda _, offsets: self.band(offsets, column, count))

        self.shared(bands, many, n, WIDE, unit)

    def band(self, offsets: list[Value], column: Value, count: Value) -> None:
        """Columns `column` and on of the rows of a band, block by block."""
        source = self.place(self.x, offsets[0] + column * self.from_)
        target = self.place(self.y, offsets[1] + column * self.width)
        rows = self.least(self.height - offsets[2], self.constant(HIGH, I64))

        def blocks(i: Value) -> None:
            def block(r: Value) -> None:
                self.block(self.at(source, r, i), self.at(target, i, r, turned=True), rows - r, count - i)

            self.counted(self.constant(0, I64), rows + (self.side - 1), self.side, block, "r")

        self.counted(self.constant(0, I64), count + (self.side - 1), self.side, blocks, "column")

    def at(self, base: str, a: Value, b: Value, *, turned: bool = False) -> str:
        """The address of an element: a along the row in memory, b across; for y both the other way round."""
        along, across, step = (a, b, self.to) if turned else (a, b, self.from_)
        return self.place(base, along * self.width + across * step)

    def block(self, source: str, target: str, rows: Value, columns: Value) -> None:
        """One block: whole in registers, at the edges of a band by what its elements allow."""
        if self.side == 1:
            self.write(Slot(target, self.kind), self.read(Slot(source, self.kind)))
            return
        whole = (rows >= self.side) & (columns >= self.side)
        self.when(whole, lambda: self.inside(source, target))
        edge = self.masked if self.width >= 4 else self.one_by_one
        self.when(whole.equals(0), lambda: edge(source, target, rows, columns))

    def inside(self, source: str, target: str) -> None:
        steps = [self.constant(i, I64) for i in range(self.side)]
        found = [self.read(Slot(self.place(source, i * self.from_), self.wide)) for i in steps]
        for i, one in zip(steps, self.transposed(found), strict=True):
            self.write(Slot(self.place(target, i * self.to), self.wide), one)

    def masked(self, source: str, target: str, rows: Value, columns: Value) -> None:
        """The same with those lanes and vectors alone that are there."""
        zero, steps = self.constant(0, self.wide), [self.constant(i, I64) for i in range(self.side)]
        slots = [self.new_slot("line", self.wide) for _ in steps]
        along, across = self.mask(rows, self.side), self.mask(columns, self.side)
        for i, slot in zip(steps, slots, strict=True):
            self.write(slot, zero)

            def fetch(i: Value = i, slot: Slot = slot) -> None:
                self.write(slot, self.masked_load(self.place(source, i * self.from_), along, zero))

            self.when(i < columns, fetch)
        found = self.transposed([self.read(slot) for slot in slots])
        for i, one in zip(steps, found, strict=True):

            def put(i: Value = i, one: Value = one) -> None:
                self.masked_store(one, self.place(target, i * self.to), across)

            self.when(i < rows, put)

    def one_by_one(self, source: str, target: str, rows: Value, columns: Value) -> None:
        side, zero = self.constant(self.side, I64), self.constant(0, I64)

        def row(r: Value) -> None:
            def one(c: Value) -> None:
                found = self.read(Slot(self.at(source, r, c), self.kind))
                self.write(Slot(self.at(target, c, r, turned=True), self.kind), found)

            self.counted(zero, self.least(columns, side), 1, one, "c")

        self.counted(zero, self.least(rows, side), 1, row, "r")

    def transposed(self, lines: list[Value]) -> list[Value]:
        """As many vectors as each has lanes; lane i of vector j becomes lane j of vector i.

        Halves of blocks change places, blocks of two lanes first.
        """
        distance = 1
        while distance < len(lines):
            found = list(lines)
            for i in range(len(lines)):
                if not i & distance:
                    low, high = lines[i], lines[i + distance]
                    found[i] = self.mixed(low, high, distance, second=False)
                    found[i + distance] = self.mixed(low, high, distance, second=True)
            lines, distance = found, distance * 2
        return lines

    def mixed(self, low: Value, high: Value, distance: int, *, second: bool) -> Value:
        """Of each run of `distance` lanes in either vector every other one, in turn."""
        side, shift = self.side, distance if second else 0
        places = [(side + lane - distance if lane & distance else lane) + shift for lane in range(side)]
        return self.shuffled(low, high, places)
