"""Products at the points, and the way back from there to pixels of the result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.loops.ir import Load, Local
from sardonyx._src.compile.products.winograd_input import Input
from sardonyx._src.compile.products.winograd_tiles import (
    DEAD,
    LINE,
    SIZES,
    TABLE,
    Corner,
    Variant,
    products_at,
)
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Kind, Value


class Output(Input):
    """The instructions from values at the points to the result.

    Arguments behind those of `Tiles`: weights, [panels, points, channels, width]; bias, [panels, width]; the result's.
    Scratch behind the table: a pixel of dead results; products of a group with a panel, [points, tiles, width]; and, if
    they are not shared, the group's values.
    """

    def __init__(self, variant: Variant, tail: Tail, fused: bool) -> None:
        super().__init__(variant, tail, fused)
        self.ragged = variant.ragged and variant.tile.lanes > 1
        at = 3 + len(SIZES)
        self.weights, self.bias = self.pointer(at), self.pointer(at + 1)
        self.written = self.result(at + 2)
        matrices = [(o.address, o.pitch) for o in self.written.operands if o.pitch is not None]
        self.targets = [(self.written.address, self.written.pitch), *matrices]
        assert len(self.targets) * self.forms.outputs * 2 <= TABLE, "the table has no room for all matrices"
        self.dead = self.address(self.scratch, self.constant(DEAD, I64))
        self.products = self.address(self.scratch, self.constant(products_at(self.tile.width), I64))

    def whole_units(self) -> None:
        """A kernel's units are groups of tiles, of which every step is done in scratch."""
        values = self.address(self.products, self.sizes["back"] * self.forms.points)

        def unit(group: Value) -> None:
            first, count = self.members(group)

            def tile(row: Value) -> None:
                self.gather(first + row, self.address(values, row * self.sizes["channels"]))

            self.counted(self.zero, count, 1, tile, "tile")
            panels = self.sizes["panels"]
            self.counted(self.zero, panels, 1, lambda p: self.panel(first, count, p, values), "panel")

        self.counted(self.first, self.last, 1, unit, "group")

    def product_units(self) -> None:
        """A kernel's units are groups of tiles by a panel of the weights: a panel is read for half of the groups.

        A thread of two then reads the values that it has written; more would have to read weights more often.
        """

        def unit(unit: Value) -> None:
            groups = self.quotient(self.sizes["tiles"] + (self.sizes["group"] - 1), self.sizes["group"])
            half = (groups + 1) >> 1
            which, rest = self.divided(unit, half * self.sizes["panels"])
            before = which * half
            panel, group = self.divided(rest, self.least(groups - before, half))
            group = before + group
            first, count = self.members(group)
            values = self.address(self.shared, group * self.sizes["there"] * self.forms.points)
            self.panel(first, count, panel, values)

        self.counted(self.first, self.last, 1, unit, "unit")

    def members(self, group: Value) -> tuple[Value, Value]:
        """The first tile of a group, and how many it has."""
        first = group * self.sizes["group"]
        return first, self.least(self.sizes["group"], self.sizes["tiles"] - first)

    def panel(self, first: Value, count: Value, panel: Value, values: str) -> None:
        """Results of a group of tiles in the columns of a panel."""
        self.multiply(count, panel, values)
        self.counted(self.zero, count, 1, lambda row: self.scatter(first + row, row, panel), "tile")

    # --- products ----------------------------------------------------------------------------

    def multiply(self, count: Value, panel: Value, values: str) -> None:
        """The products of the values of a group of tiles with a panel of the weights, at each point."""
        size, width = self.sizes, self.tile.width
        channels = size["channels"]

        def point(f: Value) -> None:
            a = self.address(values, f * size["there"])
            b = self.address(self.weights, (panel * self.forms.points + f) * channels * width)
            c = self.address(self.products, f * size["back"])
            # each block of rows fetches a part of the weights of the next point, which come from memory
            following = self.address(b, channels * width)

            def block(row: Value) -> None:
                number = self.quotient(row, self.constant(self.tile.rows, I64))
                ahead = self.address(following, number * channels * LINE)

                def body(rows: int) -> None:
                    self.start(rows)
                    places = [self.address(a, (row + r) * channels) for r in range(rows)]
                    self.accumulate(places, b, channels, ahead=ahead)
                    self.keep(rows, self.address(c, row * width))

                self.heights(count - row, body)

            self.counted(self.zero, count + (self.tile.rows - 1), self.tile.rows, block, "block")

        self.counted(self.zero, self.constant(self.forms.points, I64), 1, point, "point")

    def heights(self, left: Value, body: Callable[[int], None]) -> None:
        """The body for a third, two thirds or all of the rows of a tile of sums, so many that they hold what is left."""
        full = self.tile.rows
        lower = 0
        for rows in sorted({-(-full // 3), -(-full * 2 // 3), full}):
            fits = left > lower if rows == full else (left > lower) & (left <= rows)
            self.when(fits, partial(body, rows))
            lower = rows

    # --- back --------------------------------------------------------------------------------

    def scatter(self, tile: Value, row: Value, panel: Value) -> None:
        """Brings a tile, which is a row of the products, back and writes it in the columns of a panel."""
        first = panel * self.tile.width
        self.find_outputs(self.corner(tile), first)
        start = self.address(self.products, row * self.tile.width)

        def vector(at: Value) -> None:
            left = self.sizes["features"] - (first + at)
            is_whole = left >= self.tile.lanes
            self.when(is_whole, lambda: self.scatter_vector(start, at, first, None))
            if self.ragged:
                is_part = (left > 0) & (left < self.tile.lanes)
                mask = self.mask(first + at, self.sizes["features"])
                self.when(is_part, lambda: self.scatter_vector(start, at, first, mask))

        self.counted(self.zero, self.constant(self.tile.width, I64), self.tile.lanes, vector, "vector")

    def find_outputs(self, corner: Corner, column: Value) -> None:
        """Puts into the table where pixels of the result and of what its tail takes begin.

        Pixels behind the border are computed beside the tile's last ones, and written where nobody reads.
        """
        size, horizontal = self.sizes, self.forms.horizontal.outputs
        dead = self.address(self.dead, 0 - column)
        for a in range(self.forms.vertical.outputs):
            row = self.least(corner.row + a, size["rows"] - 1)
            first = (corner.image * size["rows"] + row) * size["columns"]
            for b in range(horizontal):
                at = self.least(corner.column + b, size["columns"] - 1)
                is_dead = (row < corner.row + a) | (at < corner.column + b)
                index = (a * horizontal + b) * len(self.targets)
                for i, (address, pitch) in enumerate(self.targets):
                    place = self.address(address, (first + at) * pitch)
                    self.put_address(index + i, self.one_of(is_dead, dead, place) if i == 0 else place)

    def scatter_vector(self, start: str, at: Value, first: Value, mask: Value | None) -> None:
        """Brings a vector of columns of a tile back."""
        vertical, horizontal = self.forms.vertical, self.forms.horizontal
        bias = self.read(self.vector_at(self.bias, first + at))
        across, down = self.sizes["back"], self.sizes["back"] * horizontal.inputs
        columns = []
        for b in range(horizontal.inputs):
            point = self.address(start, across * b + at)
            points = []
            for _ in range(vertical.inputs):
                points.append(self.read(Slot(point, self.vector)))
                point = self.address(point, down)
            columns.append(vertical.back(self, points))
        for a, line in enumerate(zip(*columns, strict=True)):
            for b, value in enumerate(horizontal.back(self, line)):
                pixel = a * horizontal.outputs + b
                self.write_pixel(value + bias, pixel, first + at, mask)

    def write_pixel(self, value: Value, pixel: int, column: Value, mask: Value | None) -> None:
        """Writes a vector of a pixel, behind the tail."""
        places = [self.taken_address(pixel * len(self.targets) + i) for i in range(len(self.targets))]
        matrices = iter(places[1:])
        operands = [next(matrices) if o.pitch is not None else o.address for o in self.written.operands]

        def leaf(name: Local | Load) -> Value:
            assert isinstance(name, Local), f"a tail has no {name}"
            if name.name == "x":
                return value
            index = int(name.name[1:])
            if self.tail.operands[index] == "scalar":
                return self.spread(self.read(Slot(operands[index], Kind("float"))), self.tile.lanes)
            place = self.vector_at(operands[index], column)
            return self.read(place) if mask is None else self.read_where(mask, place)

        self.fetch(places[0], self.written.pitch * self.forms.horizontal.outputs + column, write=True)
        found = self.evaluated(self.tail.value, self.vector, leaf)
        place = self.vector_at(places[0], column)
        if mask is None:
            self.write(place, found)
        else:
            self.write_where(mask, place, found)
