"""Convolutions of few channels, as first layers are: a band of the image is copied, and windows run over the copy.

The band is [lines][pixels][channels] with zeros where the image ends, whatever the layout of the image, so that a line of
a window is one run of kernel_width * channels terms: taps are the lines of the window alone.
"""

from __future__ import annotations

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.micro import FLOAT
from sardonyx._src.compile.products.windows import WINDOW, Windows
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Value


class Band(Windows):
    """An image of any strides, copied pixel by pixel.

    Units are `band_lines` lines of one image's result.  Scratch: as of `Windows`, behind it the band.

    `pixel_channels` are those of the image, `channel_pitch` says how far apart they are.  `left` may be anything;
    `dilation_x` is 1.  `band_width` counts pixels, `band_height` lines.
    """

    more = (*WINDOW, "pixel_channels", "channel_pitch", "band_lines", "band_width", "band_height")

    def __init__(self, vectors: int, tail: Tail, target: Target) -> None:
        super().__init__(vectors, tail, target)
        size = self.sizes
        self.band = self.address(self.zeros, size["channels"])
        pitch, zero, one = (
            size["band_width"] * size["pixel_channels"],
            self.constant(0, I64),
            self.constant(1, I64),
        )
        self.grid |= {
            "height": size["band_height"],
            "width": one << 40,  # whatever is in the band may be read
            "kernel_width": one,
            "top": zero,
            "left": zero,
            "image_pitch": zero,
            "row_pitch": pitch,
            "pixel_pitch": size["pixel_channels"],
        }

    def prepare(self, block: Value) -> None:
        size, zero = self.sizes, self.constant(0, I64)
        lines = size["band_lines"]
        bands = self.quotient(size["out_height"] + (lines - 1), lines)
        image, band = self.divided(block, bands)
        first = band * lines
        count = self.least(lines, size["out_height"] - first)
        self.write(self.row, (image * size["out_height"] + first) * size["out_width"])
        self.write(self.count, count * size["out_width"])
        needed = (count - 1) * size["stride_y"] + (size["kernel_height"] - 1) * size["dilation_y"] + 1
        top = first * size["stride_y"] - size["top"]
        source = self.address(self.x, image * size["image_pitch"])
        self.counted(zero, needed, 1, lambda line: self.copy_line(line, top + line, source), "line")
        for slot in self.place:
            self.write(slot, zero)
        self.fill(self.band)

    def copy_line(self, line: Value, y: Value, source: str) -> None:
        """Copies a line of the image into the band, one channel after the other, with zeros on either side."""
        size, zero = self.sizes, self.constant(0, I64)
        width = size["band_width"]
        target = self.address(self.band, line * width * size["pixel_channels"])
        is_line = self.is_inside(y, size["height"])
        start = self.clipped(size["left"], width)
        end = self.clipped(size["left"] + size["width"], width)
        end = self.select(is_line & (end > start), end, start)
        from_line = self.address(source, y * size["row_pitch"] - size["left"] * size["pixel_pitch"])

        self.clear(target, zero, start)
        self.copy_pixels(from_line, target, start, end)
        self.clear(target, end, width)

    def clipped(self, at: Value, end: Value) -> Value:
        """The nearest of the numbers from 0 to an end."""
        zero = self.constant(0, I64)
        return self.least(self.select(at < zero, zero, at), end)

    def clear(self, target: str, first: Value, end: Value) -> None:
        """Zeros in some pixels of a line of the band."""
        channels = self.sizes["pixel_channels"]
        nothing = self.constant(0.0, self.vector)

        def write(at: Value, count: Value | None) -> None:
            self.write_some(target, at, nothing, count)

        self.vectors(first * channels, end * channels, write)

    def copy_pixels(self, given: str, target: str, first: Value, end: Value) -> None:
        """Copies some pixels of a line of the image."""
        size = self.sizes

        def channel(c: Value) -> None:
            to = self.address(target, c)
            plane = self.address(given, c * size["channel_pitch"])

            def pixel(i: Value) -> None:
                value = self.read(Slot(self.address(plane, i * size["pixel_pitch"]), FLOAT))
                self.write(Slot(self.address(to, i * size["pixel_channels"]), FLOAT), value)

            self.counted(first, end, 1, pixel, "i")

        self.counted(self.constant(0, I64), size["pixel_channels"], 1, channel, "channel")


class Runs(Band):
    """An image whose lines are dense, channels last."""

    def copy_pixels(self, given: str, target: str, first: Value, end: Value) -> None:
        channels = self.sizes["pixel_channels"]

        def copy(at: Value, count: Value | None) -> None:
            self.write_some(target, at, self.read_some(given, at, count), count)

        self.vectors(first * channels, end * channels, copy)


class Planes(Band):
    """An image of dense planes, channels first, of a number of channels that the code is made for."""

    def __init__(self, vectors: int, tail: Tail, target: Target, channels: int) -> None:
        super().__init__(vectors, tail, target)
        self.planes = channels

    def copy_pixels(self, given: str, target: str, first: Value, end: Value) -> None:
        lanes = self.tile.lanes
        planes = [
            self.address(given, self.sizes["channel_pitch"] * channel) for channel in range(self.planes)
        ]

        def copy(at: Value, count: Value | None) -> None:
            values = [self.read_some(plane, at, count) for plane in planes]
            for i, value in enumerate(self.interleaved(values)):
                left = None if count is None else count * self.planes - i * lanes
                self.write_some(target, at * self.planes + i * lanes, value, left)

        self.vectors(first, end, copy)

    def interleaved(self, values: list[Value]) -> list[Value]:
        """Vectors of planes as vectors of pixels, each with all of its channels."""
        if self.tile.lanes == 1:
            return values
        found = []
        for part in range(len(values)):
            places = [divmod(part * self.tile.lanes + i, len(values)) for i in range(self.tile.lanes)]
            merged = values[0]
            for channel, value in enumerate(values[1:], 1):
                merged = self.merged(merged, value, channel, places)
            found.append(merged)
        return found

    def merged(self, before: Value, value: Value, channel: int, places: list[tuple[int, int]]) -> Value:
        """A vector with the lanes of a channel taken from its plane; the first channel's are placed beside the second's."""
        lanes = self.tile.lanes
        chosen = [
            lanes + pixel if c == channel else (pixel if channel == 1 else i)
            for i, (pixel, c) in enumerate(places)
        ]
        mask = ", ".join(f"i32 {i}" for i in chosen)
        return self.emit(self.vector, f"shufflevector {before}, {value}, <{lanes} x i32> <{mask}>")
