"""im2row buffers for convolutions with few input channels, such as first layers, by input layout.

Each unit of work, some output lines of an image, copies the band of the image under them into a zero-padded buffer
[lines, pixels, channels] in scratch.  There, each line of a window is contiguous, kernel_width * channels terms, so that
windows overlap in the buffer and the GEMM has one tap for each line of the window, not one for each pixel.  The classes
copy an image of any strides, a channels-last image (NHWC), or a channels-first image (NCHW) of up to four channels.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.conv.indirection import WINDOW_SIZES, IndirectConvEmitter
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import F32


class Im2rowConvEmitter(IndirectConvEmitter):
    """Emits a convolution with an im2row buffer, for an image of any strides, which is copied pixel by pixel.

    A group of rows is `band_lines` output lines of one image.  Scratch: that of `IndirectConvEmitter`, then the buffer
    [band_height, band_width, pixel_channels].  `pixel_channels` counts the image's channels, `channel_stride` apart;
    `dilation_x` must be 1.
    """

    variant = "band"

    extra_sizes = (
        *WINDOW_SIZES,
        "pixel_channels",
        "channel_stride",
        "band_lines",
        "band_width",
        "band_height",
    )

    def __init__(self, vectors: int, epilogue: Epilogue, target: Target) -> None:
        super().__init__(vectors, epilogue, target)
        size = self.sizes
        self.band = self.gep(self.zero_row, size["channels"])
        line_stride = size["band_width"] * size["pixel_channels"]
        zero, i64_one = self.constant(0, I64), self.constant(1, I64)
        self.geometry |= {
            "height": size["band_height"],
            "width": i64_one << 40,  # all of the buffer is readable, padding included
            "kernel_width": i64_one,
            "top": zero,
            "left": zero,
            "image_stride": zero,
            "row_stride": line_stride,
            "pixel_stride": size["pixel_channels"],
        }

    def prepare_rows(self, block: LLVMValue) -> None:
        size, zero = self.sizes, self.constant(0, I64)
        lines = size["band_lines"]
        bands = self.udiv(size["out_height"] + (lines - 1), lines)
        image, band = self.udivmod(block, bands)
        first = band * lines
        count = self.min(lines, size["out_height"] - first)
        self.store(self.first_row, (image * size["out_height"] + first) * size["out_width"])
        self.store(self.num_rows, count * size["out_width"])
        needed = (count - 1) * size["stride_y"] + (size["kernel_height"] - 1) * size["dilation_y"] + 1
        top = first * size["stride_y"] - size["top"]
        source = self.gep(self.x, image * size["image_stride"])
        self.loop_call(zero, needed, 1, lambda line: self.copy_line(line, top + line, source), "line")
        for slot in self.position:
            self.store(slot, zero)
        self.fill_indirection(self.band)

    def copy_line(self, line: LLVMValue, y: LLVMValue, source: str) -> None:
        """Copies line y of the image into a line of the buffer, with zeros for the padding on either side."""
        size, zero = self.sizes, self.constant(0, I64)
        width = size["band_width"]
        target = self.gep(self.band, line * width * size["pixel_channels"])
        is_line = self.is_in_range(y, size["height"])
        first = self.clamp(size["left"], width)
        end = self.clamp(size["left"] + size["width"], width)
        end = self.select(is_line & (end > first), end, first)
        from_line = self.gep(source, y * size["row_stride"] - size["left"] * size["pixel_stride"])

        self.clear_pixels(target, zero, first)
        self.copy_pixels(from_line, target, first, end)
        self.clear_pixels(target, end, width)

    def clamp(self, value: LLVMValue, end: LLVMValue) -> LLVMValue:
        """`value` clamped to [0, end]."""
        zero = self.constant(0, I64)
        return self.min(self.select(value < zero, zero, value), end)

    def clear_pixels(self, target: str, first: LLVMValue, end: LLVMValue) -> None:
        """Zeroes pixels [first, end) of a line of the buffer."""
        channels = self.sizes["pixel_channels"]
        zeros = self.constant(0.0, self.vector_type)

        def store_zeros(offset: LLVMValue, count: LLVMValue | None) -> None:
            self.store_first_lanes(target, offset, zeros, count)

        self.loop_vectors(first * channels, end * channels, store_zeros)

    def copy_pixels(self, source: str, target: str, first: LLVMValue, end: LLVMValue) -> None:
        """Copies pixels [first, end) of a line of the image."""
        size = self.sizes

        def copy_channel(c: LLVMValue) -> None:
            target_channel = self.gep(target, c)
            plane = self.gep(source, c * size["channel_stride"])

            def copy_pixel(i: LLVMValue) -> None:
                value = self.load(StackSlot(self.gep(plane, i * size["pixel_stride"]), F32))
                self.store(StackSlot(self.gep(target_channel, i * size["pixel_channels"]), F32), value)

            self.loop_call(first, end, 1, copy_pixel, "i")

        self.loop_call(self.constant(0, I64), size["pixel_channels"], 1, copy_channel, "channel")


class ChannelsLastIm2rowEmitter(Im2rowConvEmitter):
    """A channels-last image (NHWC) with contiguous lines, copied by vectors."""

    variant = "runs"

    def copy_pixels(self, source: str, target: str, first: LLVMValue, end: LLVMValue) -> None:
        channels = self.sizes["pixel_channels"]

        def copy_vector(offset: LLVMValue, count: LLVMValue | None) -> None:
            self.store_first_lanes(target, offset, self.load_first_lanes(source, offset, count), count)

        self.loop_vectors(first * channels, end * channels, copy_vector)


class ChannelsFirstIm2rowEmitter(Im2rowConvEmitter):
    """A channels-first image (NCHW) with contiguous lines, whose channels are interleaved by vector shuffles.

    channels: the number of channels, which the kernel is specialized on.
    """

    variant = "planes"

    def __init__(self, vectors: int, epilogue: Epilogue, target: Target, channels: int) -> None:
        super().__init__(vectors, epilogue, target)
        self.num_channels = channels

    def copy_pixels(self, source: str, target: str, first: LLVMValue, end: LLVMValue) -> None:
        lanes = self.tile.lanes
        planes = [
            self.gep(source, self.sizes["channel_stride"] * channel) for channel in range(self.num_channels)
        ]

        def copy_vector(offset: LLVMValue, count: LLVMValue | None) -> None:
            values = [self.load_first_lanes(plane, offset, count) for plane in planes]
            for i, value in enumerate(self.interleave(values)):
                count_left = None if count is None else count * self.num_channels - i * lanes
                self.store_first_lanes(target, offset * self.num_channels + i * lanes, value, count_left)

        self.loop_vectors(first, end, copy_vector)

    def interleave(self, values: list[LLVMValue]) -> list[LLVMValue]:
        """Interleaves a vector of each channel into as many vectors of pixels."""
        if self.tile.lanes == 1:
            return values
        vectors = []
        for vector in range(len(values)):
            lane_sources = [divmod(vector * self.tile.lanes + i, len(values)) for i in range(self.tile.lanes)]
            merged = values[0]
            for channel, value in enumerate(values[1:], 1):
                merged = self.merge_channel(merged, value, channel, lane_sources)
            vectors.append(merged)
        return vectors

    def merge_channel(
        self, merged: LLVMValue, value: LLVMValue, channel: int, lane_sources: list[tuple[int, int]]
    ) -> LLVMValue:
        """Takes the lanes of a channel from its vector `value`, the others from `merged`.

        For channel 1, `merged` is the vector of channel 0, whose lanes are moved to their places as well.
        """
        lanes = self.tile.lanes
        indices = [
            lanes + pixel if c == channel else (pixel if channel == 1 else i)
            for i, (pixel, c) in enumerate(lane_sources)
        ]
        mask = ", ".join(f"i32 {i}" for i in indices)
        return self.emit(self.vector_type, f"shufflevector {merged}, {value}, <{lanes} x i32> <{mask}>")
