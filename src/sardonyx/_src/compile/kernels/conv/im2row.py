"""im2row buffers for convolutions with few input channels, such as first layers, by input layout.

Each unit of work, some output lines of an image, copies the band of the image under them into a padded buffer
[lines, pixels, channels] in scratch.  There, each line of a window is contiguous, kernel_width * channels terms, so that
windows overlap in the buffer and the GEMM has one tap for each line of the window, not one for each pixel.

    for line of the band: padding on the left, pixels of the image, padding on the right
    fill the indirection buffer for windows over the band

Pixels are copied from an image of any strides, a channels-last image (NHWC), or a channels-first image (NCHW) of up to four
channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.conv.indirection import (
    IndirectionBuffer,
    fill_indirection,
    indirect_rows,
    is_in_range,
    new_indirection_buffer,
)
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution, emit_convolution
from sardonyx._src.compile.kernels.conv.variant import ConvVariant
from sardonyx._src.compile.kernels.conv.window_origins import WINDOW_SIZES
from sardonyx._src.compile.kernels.gemm.tile.accumulators import F32
from sardonyx._src.compile.kernels.loops.lanes import shuffle
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, load_typed, loop_vectors, store_vector

# pixel_channels counts the image's channels, `channel_stride` apart; a group of rows is `band_lines` output lines of an
# image; the buffer is [band_height, band_width, pixel_channels]; dilation_x must be 1.
IM2ROW_SIZES = (
    *WINDOW_SIZES, "pixel_channels", "channel_stride", "band_lines", "band_width", "band_height",
)  # fmt: skip
# Copies the pixels [first, end) of a line, given (convolution, address in the image, address in the buffer, first, end).
CopyPixels: TypeAlias = Callable[[Convolution, str, str, LLVMValue, LLVMValue], None]


def emit_im2row(
    conv: Convolution,
    copy_pixels: CopyPixels,
    emit_padding: Callable[[KernelBuilder], LLVMValue] | None = None,
) -> None:
    """The loop nest over an im2row buffer, the last part of scratch, after the row of padding of the indirection buffer.

    emit_padding: emits a vector of the padding, once in a call; None: the padding is zeros.
    """
    buffer = new_indirection_buffer(conv)
    padding = conv.b.constant(0, conv.m.vector_type) if emit_padding is None else emit_padding(conv.b)
    band = conv.b.gep(buffer.padding, conv.size["channels"])
    grid = replace(buffer.grid, size={**buffer.grid.size, **band_sizes(conv)})
    buffer = replace(buffer, grid=grid)
    prepare_rows = partial(prepare_band, buffer, band, copy_pixels, padding)
    emit_convolution(conv, replace(indirect_rows(buffer), prepare_rows=prepare_rows))


def band_sizes(conv: Convolution) -> Mapping[str, LLVMValue]:
    """The sizes of the windows over a band of an image.  Padding is part of the band; a line of a window is one tap."""
    b, size = conv.b, conv.size
    line_stride = size["band_width"] * size["pixel_channels"]
    zero = b.constant(0, I64)
    return {
        "height": size["band_height"],
        "width": b.constant(1, I64) << 40,  # all of the buffer is readable, padding included
        "kernel_width": b.constant(1, I64),
        "top": zero,
        "left": zero,
        "image_stride": zero,
        "row_stride": line_stride,
        "pixel_stride": size["pixel_channels"],
    }


def prepare_band(
    buffer: IndirectionBuffer, band: str, copy_pixels: CopyPixels, padding: LLVMValue, group: LLVMValue
) -> None:
    """Begins a group of rows: copies the band of the image under it, and fills the indirection buffer."""
    conv, b, size = buffer.conv, buffer.conv.b, buffer.conv.size
    zero, lines = b.constant(0, I64), size["band_lines"]
    bands = b.udiv(size["out_height"] + (lines - 1), lines)
    image, band_index = b.udivmod(group, bands)
    first = band_index * lines
    count = b.min(lines, size["out_height"] - first)
    b.store(conv.row_group.first_row, (image * size["out_height"] + first) * size["out_width"])
    b.store(conv.row_group.num_rows, count * size["out_width"])
    num_lines = (count - 1) * size["stride_y"] + (size["kernel_height"] - 1) * size["dilation_y"] + 1
    top = first * size["stride_y"] - size["top"]
    source = b.gep(conv.x, image * size["image_stride"])
    with b.loop(zero, num_lines, 1, "line") as line:
        copy_line(conv, copy_pixels, padding, (source, top + line), (band, line))
    for slot in buffer.grid.position:
        b.store(slot, zero)
    fill_indirection(buffer, band)


def copy_line(
    conv: Convolution,
    copy_pixels: CopyPixels,
    padding: LLVMValue,
    image_line: tuple[str, LLVMValue],
    band_line: tuple[str, LLVMValue],
) -> None:
    """Copies a line of an image into a line of the band, with padding on either side.

    image_line, band_line: the address of the image or band, and the number of the line in it.
    """
    b, size, (image, y), (band, line) = conv.b, conv.size, image_line, band_line
    width = size["band_width"]
    target = b.gep(band, line * width * size["pixel_channels"])
    is_line = is_in_range(b, y, size["height"])
    first = clamp(b, size["left"], width)
    end = clamp(b, size["left"] + size["width"], width)
    end = b.select(is_line & (end > first), end, first)
    source = b.gep(image, y * size["row_stride"] - size["left"] * size["pixel_stride"])
    fill_pixels(conv, padding, target, b.constant(0, I64), first)
    copy_pixels(conv, source, target, first, end)
    fill_pixels(conv, padding, target, end, width)


def clamp(b: KernelBuilder, value: LLVMValue, end: LLVMValue) -> LLVMValue:
    """`value` clamped to [0, end]."""
    zero = b.constant(0, I64)
    return b.min(b.select(value < zero, zero, value), end)


def fill_pixels(conv: Convolution, padding: LLVMValue, target: str, first: LLVMValue, end: LLVMValue) -> None:
    """Fills pixels [first, end) of a line of the buffer with padding."""
    b, channels = conv.b, conv.size["pixel_channels"]
    for i, mask in loop_vectors(b, first * channels, end * channels, conv.m.tile.lanes):
        store_vector(b, padding, b.gep(target, i), mask)


# --- pixels of each layout -----------------------------------------------------------------------


def copy_strided_pixels(
    conv: Convolution, source: str, target: str, first: LLVMValue, end: LLVMValue
) -> None:
    """Copies pixels of an image of any strides, one float after the other."""
    b, size = conv.b, conv.size
    with b.loop(b.constant(0, I64), size["pixel_channels"], 1, "channel") as c:
        target_channel = b.gep(target, c)
        plane = b.gep(source, c * size["channel_stride"])
        with b.loop(first, end, 1, "i") as i:
            value = b.load(MemoryLocation(b.gep(plane, i * size["pixel_stride"]), F32))
            b.store(MemoryLocation(b.gep(target_channel, i * size["pixel_channels"]), F32), value)


def copy_channels_last(conv: Convolution, source: str, target: str, first: LLVMValue, end: LLVMValue) -> None:
    """Copies pixels of a channels-last image (NHWC) with contiguous lines, by vectors."""
    b, m, channels = conv.b, conv.m, conv.size["pixel_channels"]
    for i, mask in loop_vectors(b, first * channels, end * channels, m.tile.lanes):
        store_vector(b, load_typed(b, m.vector_type, b.gep(source, i), mask), b.gep(target, i), mask)


def interleave_channels(
    conv: Convolution, source: str, target: str, first: LLVMValue, end: LLVMValue, *, channels: int
) -> None:
    """Copies pixels of a channels-first image (NCHW) with contiguous lines; vector shuffles interleave the channels."""
    b, m, lanes = conv.b, conv.m, conv.m.tile.lanes
    planes = [b.gep(source, conv.size["channel_stride"] * channel) for channel in range(channels)]
    for i, mask in loop_vectors(b, first, end, lanes):
        vectors = [load_typed(b, m.vector_type, b.gep(plane, i), mask) for plane in planes]
        for v, pixels in enumerate(interleave(b, vectors)):
            pixel_mask = None if mask is None else first_lanes(b, (end - i) * channels - v * lanes, lanes)
            store_vector(b, pixels, b.gep(target, i * channels + v * lanes), pixel_mask)


def interleave(b: KernelBuilder, channels: list[LLVMValue]) -> list[LLVMValue]:
    """Interleaves a vector of each channel into as many vectors of pixels."""
    lanes = b.target.lanes
    if lanes == 1:
        return channels
    vectors = []
    for vector in range(len(channels)):
        lane_sources = [divmod(vector * lanes + i, len(channels)) for i in range(lanes)]
        merged = channels[0]
        for channel, value in enumerate(channels[1:], 1):
            merged = merge_channel(b, merged, value, channel, lane_sources)
        vectors.append(merged)
    return vectors


def merge_channel(
    b: KernelBuilder,
    merged: LLVMValue,
    value: LLVMValue,
    channel: int,
    lane_sources: list[tuple[int, int]],
) -> LLVMValue:
    """A vector with the lanes of a channel from its vector `value`, and all other lanes from `merged`.

    lane_sources: (pixel, channel) of each lane.  For channel 1, `merged` is still the plain vector of channel 0, so that
    the shuffle moves the lanes of channel 0 to their positions as well.
    """
    lanes = value.type.lanes
    indices = [
        lanes + pixel if c == channel else (pixel if channel == 1 else i)
        for i, (pixel, c) in enumerate(lane_sources)
    ]
    return shuffle(b, merged, value, indices)


STRIDED_IM2ROW = ConvVariant(
    "im2row_strided", partial(emit_im2row, copy_pixels=copy_strided_pixels), IM2ROW_SIZES
)
CHANNELS_LAST_IM2ROW = ConvVariant(
    "im2row_nhwc", partial(emit_im2row, copy_pixels=copy_channels_last), IM2ROW_SIZES
)


def channels_first_im2row(channels: int) -> ConvVariant:
    """The variant for channels-first images of a number of channels."""
    copy_pixels = partial(interleave_channels, channels=channels)
    return ConvVariant(f"im2row_nchw{channels}", partial(emit_im2row, copy_pixels=copy_pixels), IM2ROW_SIZES)
