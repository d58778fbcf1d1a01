"""The way to the points: tiles of the input, wherever they hang over its border, to values at the points."""

from __future__ import annotations

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.products.winograd_tiles import Corner, Tiles
from sardonyx._src.compile.text import Value

AHEAD = 2  # tiles: pixels of the one so far to the right are fetched meanwhile


class Input(Tiles):
    """The instructions that take tiles to the points."""

    def units(self) -> None:
        """A kernel's units are tiles, whose values go to where all groups share them."""
        self.counted(self.first, self.last, 1, self.unit, "tile")

    def unit(self, tile: Value) -> None:
        size = self.sizes
        group = self.quotient(tile, size["group"])
        row = tile - group * size["group"]
        first = group * size["there"] * self.forms.points + row * size["channels"]
        self.gather(tile, self.address(self.shared, first))

    def gather(self, tile: Value, values: str) -> None:
        """Takes a tile to the points; its value at the first one for the first channel goes to an address."""
        self.find_inputs(self.corner(tile))
        channels, lanes = self.sizes["channels"], self.depth.lanes

        def vector(at: Value) -> None:
            at = self.least(at, channels - lanes)  # the last vector overlaps the one before
            self.gather_vector(at, self.address(values, at))

        self.counted(self.zero, channels + (lanes - 1), lanes, vector, "channel")

    def find_inputs(self, corner: Corner) -> None:
        """Puts the addresses of the pixels of a tile into the table; padding is the pixel of zeros."""
        size = self.sizes
        row, column = corner.row - size["top"], corner.column - size["left"]
        columns = [column + b for b in range(self.forms.horizontal.inputs)]
        inside = [self.within(c, size["width"]) for c in columns]
        for a in range(self.forms.vertical.inputs):
            at = row + a
            is_inside = self.within(at, size["height"])
            first = corner.image * size["by_image"] + at * size["by_row"]
            for b, c in enumerate(columns):
                place = self.address(self.x, first + c * size["by_pixel"])
                chosen = self.one_of(is_inside & inside[b], place, self.zeros)
                self.put_address(a * len(columns) + b, chosen)

    def gather_vector(self, channel: Value, values: str) -> None:
        """Takes some channels of the tile in the table to the points."""
        vertical, horizontal = self.forms.vertical, self.forms.horizontal
        shared = horizontal.inputs - horizontal.outputs  # columns that the tile before has read
        columns = []
        for b in range(horizontal.inputs):
            places = [self.taken_address(a * horizontal.inputs + b) for a in range(vertical.inputs)]
            pixels = [self.read(Slot(self.address(p, channel), self.depth)) for p in places]
            if b >= shared:
                for place in places:
                    self.fetch(place, self.sizes["by_pixel"] * (AHEAD * horizontal.outputs) + channel)
            columns.append(vertical.there(self, pixels))
        point = values
        for line in zip(*columns, strict=True):
            for value in horizontal.there(self, line):
                self.write(Slot(point, self.depth), value)
                point = self.address(point, self.sizes["there"])
