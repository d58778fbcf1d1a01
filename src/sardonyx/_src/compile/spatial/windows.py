"""Windows that slide over images, channels last: the loops that depthwise convolutions and pooling share.

A unit is a row of the output for a block of channels.  Of the row, a few pixels times one vector of channels are held
in registers while the taps run; the elements of a row of the input that several windows share are read once.  What
lies outside of the image is masked: in whole tiles only the outer columns can, and their masks are made once for all
channels; at the end of rows and of channels every element has a mask of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import Channels
from sardonyx._src.compile.spatial.window import COUNT, Grip
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Value

LINE = 16  # floats in a line of the cache
FAR = 2**21  # floats of an image that hardly comes from a cache


class Windows(Channels, ABC):
    """The loops; what becomes of the elements below a window is said by classes made of it."""

    absent = 0.0  # what stands in the padding

    def __init__(self, target: Target, tail: Tail, grip: Grip) -> None:
        super().__init__(target, tail)
        self.grip = grip
        self.x, self.y = self.pointer(0), self.pointer(1)
        self.x_pitch, self.y_pitch, self.height, self.width = (self.size(i) for i in range(2, 6))
        self.out_height, self.out_width, self.channels, self.rows, self.block = (
            self.size(i) for i in range(6, 11)
        )
        self.kernel_height, self.kernel_width = self.size(11), self.static(12, grip.width)
        self.down, self.right = self.size(13), self.static(14, grip.stride)
        self.apart_down, self.apart_right = self.size(15), self.static(16, grip.dilation)
        self.pads = [self.size(i) for i in range(17, 21)]
        self.fetch(COUNT)
        self.sums = [self.new_slot("sum", self.vector) for _ in range(self.sum_count())]
        self.reached = self.new_slot("reached", I64)
        self.is_far = self.height * self.width * self.x_pitch >= FAR
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def static(self, index: int, known: int) -> Value:
        return self.constant(known, I64) if known else self.size(index)

    # --- what windows do ---------------------------------------------------------------------

    def fetch(self, index: int) -> None:
        """Reads the arguments from a place on, before any loop."""
        self.fetch_operands(index)

    def sum_count(self) -> int:
        """How many sums the taps of a tile are taken into: one for each window."""
        return self.grip.pixels

    def row_begins(self) -> None:
        """Called before the tiles of a row."""

    def tile_begins(self, left: Value) -> None:
        """Called before the channels of a tile, whose first window begins at a column of the input."""

    def start(self, channel: Value, mask: Value | None) -> Value:
        """What the sums begin with."""
        return self.constant(self.absent, self.vector)

    def tap_row_begins(self, tap_row: Value, channel: Value, mask: Value | None) -> None:
        """Called before the taps of a row."""

    @abstractmethod
    def step(self, total: Value, x: Value, tap: int | Value) -> Value:
        """The sum with the element below a tap of the row."""

    def result(self, pixel: int) -> Value:
        """What a window of the tile comes to."""
        return self.read(self.sums[pixel])

    # --- the loops ---------------------------------------------------------------------------

    def unit(self, unit: Value) -> None:
        block, self.row = self.divided(unit, self.rows)
        self.image, out_row = self.divided(self.row, self.out_height)
        self.begin = block * self.block
        self.end = self.least(self.begin + self.block, self.channels)
        self.top = out_row * self.down - self.pads[0]
        self.tap_rows = self.between(self.top, self.zero, self.height, self.kernel_height, self.apart_down)
        self.row_begins()
        pixels = self.grip.pixels
        self.counted(self.zero, self.out_width + (pixels - 1), pixels, self.tile, "tile")

    def between(
        self, start: Value, low: Value, high: Value, count: Value, apart: Value
    ) -> tuple[Value, Value]:
        """Which taps, the first and the one behind the last, of a window from `start` on lie from low up to high."""

        def until(limit: Value) -> Value:
            room = self.greatest(limit - start, self.zero)
            steps = room if apart.name == "1" else self.truncated(room + apart - 1, apart)
            return self.least(steps, count)

        return until(low), until(high)

    def tile(self, column: Value) -> None:
        """The windows from a column of the output on: whole vectors of whole tiles, then all that is left."""
        left = column * self.right - self.pads[1]
        self.tile_begins(left)
        self.when(self.is_far, lambda: self.prefetch(left))
        self.write(self.reached, self.begin)

        def whole() -> None:
            self.rim = {place: self.whole_mask(left + place) for place in self.rim_places()}
            end = self.counted(
                self.begin,
                self.end,
                self.lanes,
                lambda c: self.vectors(column, left, c, edge=False),
                "channel",
            )
            self.write(self.reached, end)

        self.when(self.is_whole(column, left), whole)
        self.counted(
            self.read(self.reached),
            self.end + (self.lanes - 1),
            self.lanes,
            lambda c: self.vectors(column, left, c, edge=True),
            "channel",
        )

    def prefetch(self, left: Value) -> None:
        """Asks for what the tile below reads for the first time: memory is slow where runs are short.

        Costs a tenth or more where the image is in a cache, which is assumed of all but the largest ones.
        """
        bottom = self.top + self.down + self.apart_down * (self.kernel_height - 1)
        count = self.least(self.down, self.kernel_height)

        def row(up: Value) -> None:
            line = ((self.image * self.height + bottom) - up) * self.width + left
            base = self.address(self.x, line * self.x_pitch)

            def run(channel: Value) -> None:
                for place in range(self.grip.pixels * self.grip.stride):
                    self.ask(self.address(base, self.x_pitch * place + channel))

            self.counted(self.begin, self.end + (LINE - 1), LINE, run, "line")

        self.counted(self.zero, count, 1, row, "new_row")

    def ask(self, address: str) -> None:
        """Brings a line towards the cache of the second level; any address will do."""
        self.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
        self.lines.append(f" call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 2, i32 1)")

    def is_whole(self, column: Value, left: Value) -> Value:
        """Whether all windows of a tile are wanted, and none of them reaches beyond the rim."""
        first, last = (
            self.zero,
            self.right * (self.grip.pixels - 1) + self.apart_right * (self.kernel_width - 1),
        )
        if self.grip.width:
            first, last = (self.constant(place, I64) for place in self.grip.rim)
        is_inside = (left + first >= 0) & (left + last < self.width)
        return is_inside & (column + self.grip.pixels <= self.out_width)

    def rim_places(self) -> list[int]:
        if not self.grip.width:
            return []
        first, last = self.grip.rim
        return [place for place in self.grip.places if not first <= place <= last]

    def whole_mask(self, at: Value) -> Value:
        """All lanes if a column lies inside of the image, else none."""
        is_inside = (at >= 0) & (at < self.width)
        return self.mask(self.select(is_inside, self.lanes, self.zero))

    def vectors(self, column: Value, left: Value, channel: Value, *, edge: bool) -> None:
        """One vector of channels of the windows of a tile."""
        live = self.end - channel
        mask = self.mask(live) if edge else None
        first = self.start(channel, mask)
        for slot in self.sums:
            self.write(slot, first)

        def tap_row(k: Value) -> None:
            self.tap_row_begins(k, channel, mask)
            line = (self.image * self.height + self.top + k * self.apart_down) * self.width + left
            base = self.address(self.x, line * self.x_pitch + channel)
            if self.grip.width:
                self.written_out(base, left, live if edge else None)
            else:
                taps = self.kernel_width
                self.counted(
                    self.zero, taps, 1, lambda t: self.one_tap(t, base, left, live if edge else None), "tap"
                )

        self.counted(*self.tap_rows, 1, tap_row, "tap_row")
        self.finish(column, channel, live if edge else None)

    def written_out(self, base: str, left: Value, live: Value | None) -> None:
        """The taps of a row, each element of the input once."""
        for i, place in enumerate(self.grip.places):
            self.column(i, self.element(base, left, self.constant(place, I64), live, self.rim.get(place)))

    def column(self, index: int, x: Value) -> None:
        """Takes in the element at one of the places of the tile, for all windows above it."""
        g = self.grip
        for p, slot in enumerate(self.sums):
            tap, rest = divmod(g.places[index] - p * g.stride, g.dilation)
            if rest == 0 and 0 <= tap < g.width:
                self.write(slot, self.step(self.read(slot), x, tap))

    def one_tap(self, tap: Value, base: str, left: Value, live: Value | None) -> None:
        for p, slot in enumerate(self.sums):
            place = self.right * p + tap * self.apart_right
            x = self.element(base, left, place, live)
            self.write(slot, self.step(self.read(slot), x, tap))

    def element(
        self, base: str, left: Value, place: Value, live: Value | None, mask: Value | None = None
    ) -> Value:
        """The vector so many columns behind the left one; what lies outside of the image is absent."""
        address = self.address(base, place * self.x_pitch)
        if live is None:
            return self.taken(address, mask, self.absent)
        at = left + place
        is_inside = (at >= 0) & (at < self.width)
        return self.taken(address, self.mask(self.select(is_inside, live, self.zero)), self.absent)

    def finish(self, column: Value, channel: Value, live: Value | None) -> None:
        """Writes the pixels of a tile."""
        first = self.row * self.out_width + column
        for p in range(self.grip.pixels):
            mask = None
            if live is not None:
                mask = self.mask(self.select(column + p < self.out_width, live, self.zero))
            value = self.finished(self.result(p), first + p, channel, mask)
            self.put(value, self.address(self.y, (first + p) * self.y_pitch + channel), mask)
