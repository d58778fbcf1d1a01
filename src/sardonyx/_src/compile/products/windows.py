"""Convolutions by windows of any kind: a table in scratch tells where the input of each row and tap is.

The table is [blocks][taps][tile.rows] addresses; what lies outside of the image is a row of zeros.  It is filled by
vectors whose lanes are rows of a block: each row has the place of its window's first pixel, to which taps add the same.
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.nest import Nest
from sardonyx._src.compile.products.row_blocks import Block
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Kind, Value

SPARE = 16  # rows of the table and of partial sums behind the last: at least as many as a tile has
LANES = 8  # rows in a vector of places
PLACES = Kind("i64", LANES)
NOWHERE = -(1 << 40)  # a line that no image has
WINDOW = (
    "height", "width", "out_height", "out_width", "kernel_height", "kernel_width", "stride_y", "stride_x",
    "dilation_y", "dilation_x", "top", "left", "image_pitch", "row_pitch", "pixel_pitch",
)  # fmt: skip


class Windows(Nest):
    """Rows are pixels of windows.  Scratch: the table, partial sums, a row of zeros."""

    more: tuple[str, ...] = WINDOW

    def __init__(self, vectors: int, tail: Tail, target: Target) -> None:
        super().__init__(vectors, tail, target)
        size = self.sizes
        words = (size["group_rows"] + SPARE) * size["taps"] + 7 & -8
        self.partial = self.address(self.scratch, words, "i64")
        self.zeros = self.address(self.partial, (size["group_rows"] + SPARE) * self.tile.width)
        self.grid = {name: size[name] for name in WINDOW}
        self.place = [self.new_slot(name, I64) for name in ("image", "y", "x")]
        self.slots += [
            f" %{name} = alloca [{SPARE} x i64], align 64" for name in ("offsets", "lines", "pixels")
        ]

    def before(self) -> None:
        """Makes the row of zeros."""

        nothing = self.constant(0.0, self.vector)

        def clear(at: Value, count: Value | None) -> None:
            self.write_some(self.zeros, at, nothing, count)

        self.vectors(self.constant(0, I64), self.inputs_of(self.sizes["groups"]), clear)

    def prepare(self, block: Value) -> None:
        size = self.sizes
        first = block * size["group_rows"]
        self.write(self.row, first)
        self.write(self.count, self.least(size["group_rows"], size["rows"] - first))
        line, x = self.divided(first, size["out_width"])
        image, y = self.divided(line, size["out_height"])
        for slot, value in zip(self.place, (image, y, x), strict=True):
            self.write(slot, value)
        self.fill(self.x)

    # --- the table ---------------------------------------------------------------------------

    def fill(self, source: str) -> None:
        """Writes the table for windows from `place` on over images at an address."""
        base, zeros = self.number(source), self.number(self.zeros)

        def block(block: Block) -> None:
            is_wide = self.grid["out_width"] >= SPARE
            self.when(is_wide, lambda: self.vector_origins(block.left))
            self.when(is_wide.equals(0), lambda: self.single_origins(block.left))
            table = self.address(self.scratch, block.index * self.tile.rows * self.sizes["taps"], "i64")
            self.fill_taps(table, base, zeros)

        self.blocks(self.read(self.count), block)

    def vector_origins(self, left: Value) -> None:
        """Notes where the windows of a block begin, if it reaches no further than into the next line."""
        grid = self.grid
        image, y, x = (self.read(slot) for slot in self.place)
        width = grid["out_width"]
        for start in range(0, self.tile.rows, LANES):
            rows = Value(self, PLACES, f"<{', '.join(f'i64 {start + i}' for i in range(LANES))}>")
            along = rows + self.spread(x, LANES)
            is_next = along >= self.spread(width, LANES)
            nothing = self.constant(0, PLACES)
            along = along - self.select(is_next, self.spread(width, LANES), nothing)
            is_image = is_next & self.spread((y + 1).equals(grid["out_height"]), LANES)
            first, below = self.spread(y, LANES), self.spread(y + 1, LANES)
            down = self.select(is_image, nothing, self.select(is_next, below, first))
            lines = down * self.spread(grid["stride_y"], LANES) - self.spread(grid["top"], LANES)
            pixels = along * self.spread(grid["stride_x"], LANES) - self.spread(grid["left"], LANES)
            pitch = self.spread(grid["image_pitch"], LANES)
            offsets = self.spread(image * grid["image_pitch"], LANES) + self.select(is_image, pitch, nothing)
            offsets = offsets + lines * self.spread(grid["row_pitch"], LANES)
            offsets = offsets + pixels * self.spread(grid["pixel_pitch"], LANES)
            lines = self.select(rows < self.spread(left, LANES), lines, self.constant(NOWHERE, PLACES))
            self.note(self.constant(start, I64), offsets, lines, pixels)
        self.advance(left)

    def note(self, row: Value, offset: Value, line: Value, pixel: Value) -> None:
        """Notes where windows begin, from a row of the block on."""
        for name, value in (("offsets", offset), ("lines", line), ("pixels", pixel)):
            self.write(Slot(self.address(f"%{name}", row, "i64"), value.kind), value)

    def single_origins(self, left: Value) -> None:
        """Notes the same row after row."""
        places = self.constant(-(-self.tile.rows // LANES) * LANES, I64)
        self.counted(self.constant(0, I64), places, 1, lambda row: self.origin(row, left), "row")

    def origin(self, row: Value, left: Value) -> None:
        """Notes where the window of a row begins, nowhere for rows behind the last, and goes to the next pixel."""
        grid = self.grid
        image, y, x = (self.read(slot) for slot in self.place)
        is_row = row < left
        line, pixel = y * grid["stride_y"] - grid["top"], x * grid["stride_x"] - grid["left"]
        offset = image * grid["image_pitch"] + line * grid["row_pitch"] + pixel * grid["pixel_pitch"]
        line = self.select(is_row, line, self.constant(NOWHERE, I64))
        self.note(row, offset, line, pixel)
        self.advance(self.select(is_row, 1, self.constant(0, I64)))

    def advance(self, step: Value) -> None:
        """Goes some pixels of the result further, at most into the next line."""
        image, y, x = (self.read(slot) for slot in self.place)
        width = self.grid["out_width"]
        is_end = x + step >= width
        is_last = is_end & (y + 1).equals(self.grid["out_height"])
        zero = self.constant(0, I64)
        self.write(self.place[2], self.select(is_end, x + step - width, x + step))
        self.write(self.place[1], self.select(is_last, zero, self.select(is_end, y + 1, y)))
        self.write(self.place[0], self.select(is_last, image + 1, image))

    def fill_taps(self, table: str, base: Value, zeros: Value) -> None:
        """Writes the addresses of all taps of a block; lanes behind the rows of one tap are overwritten by the next."""
        grid, zero = self.grid, self.constant(0, I64)
        starts = [self.constant(start, I64) for start in range(0, self.tile.rows, LANES)]
        rows = [self.origins(start, base) for start in starts]
        nothing = self.spread(zeros, LANES)
        height, width = self.spread(grid["height"], LANES), self.spread(grid["width"], LANES)

        def pixel(ky: Value, kx: Value) -> None:
            dy, dx = ky * grid["dilation_y"], kx * grid["dilation_x"]
            step = self.spread((dy * grid["row_pitch"] + dx * grid["pixel_pitch"]) << 2, LANES)
            tap = (ky * grid["kernel_width"] + kx) * self.tile.rows
            for start, (firsts, lines, pixels) in zip(starts, rows, strict=True):
                is_line = self.is_inside(lines + self.spread(dy, LANES), height)
                is_pixel = is_line & self.is_inside(pixels + self.spread(dx, LANES), width)
                found = self.select(is_pixel, firsts + step, nothing)
                self.write(Slot(self.address(table, tap + start, "i64"), PLACES), found)

        def line(ky: Value) -> None:
            self.counted(zero, grid["kernel_width"], 1, lambda kx: pixel(ky, kx), "kx")

        self.counted(zero, grid["kernel_height"], 1, line, "ky")

    def origins(self, start: Value, base: Value) -> tuple[Value, Value, Value]:
        """Of some rows of a block, where their windows begin: addresses, lines, pixels."""
        offsets, lines, pixels = (
            self.read(Slot(self.address(f"%{name}", start, "i64"), PLACES))
            for name in ("offsets", "lines", "pixels")
        )
        return (offsets << 2) + self.spread(base, LANES), lines, pixels

    def is_inside(self, at: Value, end: Value) -> Value:
        """0 <= at < end, by one comparison."""
        return self.emit(at.kind.of("i1"), f"icmp ult {at}, {end.name}")

    def number(self, address: str) -> Value:
        """An address as an integer."""
        return self.emit(I64, f"ptrtoint ptr {address} to i64")

    def addresses(self, rows: int, block: Block, tap: Value, channel: Value) -> list[str]:
        first = (block.index * self.sizes["taps"] + tap) * self.tile.rows
        found = [self.address(self.scratch, first + r, "ptr") for r in range(rows)]
        return [self.address(self.pointer_at(one), channel) for one in found]

    # --- vectors -----------------------------------------------------------------------------

    def vectors(self, first: Value, end: Value, body: Callable[[Value, Value | None], None]) -> None:
        """The body for each vector of a range, and with the number of those that are left for the last one."""
        reached = self.counted(first, end, self.tile.lanes, lambda at: body(at, None))
        if self.tile.lanes > 1:
            self.when(reached < end, lambda: body(reached, end - reached))

    def read_some(self, base: str, at: Value, count: Value | None) -> Value:
        place = self.vector_at(base, at)
        if count is None:
            return self.read(place)
        return self.read_where(self.first_lanes(count, self.tile.lanes), place)

    def write_some(self, base: str, at: Value, value: Value, count: Value | None) -> None:
        place = self.vector_at(base, at)
        if count is None:
            self.write(place, value)
        else:
            self.write_where(self.first_lanes(count, self.tile.lanes), place, value)
