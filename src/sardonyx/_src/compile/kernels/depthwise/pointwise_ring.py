"""The ring buffer of a pointwise convolution: the rows of its result that the current sliding windows read.

The buffer is in scratch and holds the last rows of an image, [ring_rows, W, C]; row r has the index r modulo ring_rows.
Pixels are computed in order, by whole register tiles; a tile need not end at the end of a row.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.sliding_window_loops import (
    OutputRow,
    WindowArguments,
    locate_window,
)
from sardonyx._src.compile.kernels.conv.loop_nest import (
    Convolution,
    RowGroup,
    RowSource,
    add_taps,
    emit_unit,
)
from sardonyx._src.compile.kernels.conv.pointwise import next_pixel_address, pixel_addresses
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import FLOAT32_ARITHMETIC, make_microkernel
from sardonyx._src.compile.kernels.gemm.tile.output import OutputMatrix
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.dataclass import dataclass

SPARE_ROWS = 1  # room for pixels that are computed ahead to fill a register tile
POINTWISE_PARAMETERS = Parameters(
    "pointwise_weights", "pointwise_bias", "input_channels", "panels", "group_rows"
)


@dataclass(frozen=True, slots=True)
class PointwiseRing:
    """A ring buffer and the convolution that fills it.

    rows: the rows of the buffer.
    window: the sliding window over the buffer.
    image: the number of the image that the buffer holds rows of.
    num_pixels: the number of pixels of the image that are computed.
    base: the offset in x of the input of the next pixels.
    next_channel: the next channel of the tile of windows that is being computed (`OutputRow`).
    """

    conv: Convolution
    partial_sums: str
    rows: LLVMValue
    window: WindowArguments
    image: MemoryLocation
    num_pixels: MemoryLocation
    base: MemoryLocation
    next_channel: MemoryLocation


def make_ring(b: KernelBuilder, images: WindowArguments, vectors: int, activation: Epilogue) -> PointwiseRing:
    """The ring buffer, empty, at the beginning of scratch, before the partial sums; images.x: the input of the convolution."""
    rows = ring_rows(b, images)
    num_pixels = rows * images.width
    image, *slots = (b.new_slot(name, I64) for name in ("image", "pixels", "base", "reached"))
    b.store(image, i64(b, -1))
    conv = pointwise_convolution(b, images, num_pixels, vectors, activation)
    partial_sums = b.gep(b.scratch, num_pixels * images.channels)
    window = replace(images, x=b.scratch, x_pixel_stride=images.channels, ring_rows=rows)
    return PointwiseRing(conv, partial_sums, rows, window, image, *slots)


def ring_rows(b: KernelBuilder, images: WindowArguments) -> LLVMValue:
    """The rows under a group of output rows (`pointwise_depthwise.ring_size`)."""
    span = (images.kernel_height - 1) * images.dilation_height + 1
    return span + (b.integer("group_rows") - 1) * images.stride_height + SPARE_ROWS


def pointwise_convolution(
    b: KernelBuilder, images: WindowArguments, ring_pixels: LLVMValue, vectors: int, activation: Epilogue
) -> Convolution:
    """The pointwise convolution of pixels of x; its output rows are the pixels of the ring buffer."""
    m = make_microkernel(b, make_tile(vectors, b.target), activation, FLOAT32_ARITHMETIC)
    unit, input_channels, panels = i64(b, 1), b.integer("input_channels"), b.integer("panels")
    size = {
        "taps": unit, "channels": input_channels, "columns": images.channels, "groups": unit, "panels": panels,
        "block_taps": unit, "block_channels": input_channels, "pixel_stride": images.x_pixel_stride,
    }  # fmt: skip

    def wrap_pixel(pixel: LLVMValue) -> LLVMValue:
        return b.select(pixel < ring_pixels, pixel, pixel - ring_pixels)

    output = OutputMatrix(b.scratch, images.channels, (), wrap_pixel)
    row_group = RowGroup(*(b.new_slot(name, I64) for name in ("row", "count", "prepared")))
    weights, bias = b.pointers("pointwise_weights", "pointwise_bias")
    return Convolution(m, images.x, weights, bias, size, output, row_group, input_channels, add_taps)


def compute_pixels(ring: PointwiseRing, image: LLVMValue, first_row: LLVMValue, end_row: LLVMValue) -> None:
    """Computes the pixels under a group of output rows that are not in the ring buffer yet."""
    window, b, tile = ring.window, ring.conv.b, ring.conv.m.tile
    top, _ = locate_window(b, window, first_row)
    last_top, _ = locate_window(b, window, end_row - 1)
    with b.if_then(image.ne(b.load(ring.image))):
        b.store(ring.image, image)
        b.store(ring.num_pixels, b.select(top < 0, i64(b, 0), top) * window.width)
    first = b.load(ring.num_pixels)
    bottom = last_top + (window.kernel_height - 1) * window.dilation_height + 1
    missing = b.min(bottom, window.height) * window.width - first
    with b.if_then(missing > 0):
        whole_tiles = b.udiv(missing + (tile.rows - 1), tile.rows) * tile.rows
        # Later lines would overwrite lines that are still read.
        end_line = b.min(top + ring.rows, window.height)
        count = b.min(whole_tiles, end_line * window.width - first)
        source = prepare_pixels(ring, first, count)
        with b.loop(i64(b, 0), ring.conv.size["panels"], name="panel") as panel:
            emit_unit(ring.conv, source, i64(b, 0), panel)
        b.store(ring.num_pixels, first + count)


def prepare_pixels(ring: PointwiseRing, first: LLVMValue, count: LLVMValue) -> RowSource:
    """Begins a group of `count` pixels: stores its index in the ring buffer, and the offset of its input."""
    conv, window, b = ring.conv, ring.window, ring.conv.b
    _, ring_index = b.udivmod(first, ring.rows * window.width)
    b.store(conv.row_group.first_row, ring_index)
    b.store(conv.row_group.num_rows, count)
    pixel = b.load(ring.image) * window.height * window.width + first
    b.store(ring.base, pixel * conv.size["pixel_stride"])
    return RowSource(
        ring.partial_sums,
        prepare_rows=lambda _group: None,
        input_addresses=partial(pixel_addresses, conv, ring.base),
        next_input_address=partial(next_pixel_address, conv, ring.base),
    )


def ring_row(ring: PointwiseRing, image: LLVMValue, out_row: LLVMValue) -> OutputRow:
    """An output row with all channels; its input is in the ring buffer."""
    b, window = ring.conv.b, ring.window
    top, tap_rows = locate_window(b, window, out_row)
    _, slot = b.udivmod(top + ring.rows, ring.rows)
    number, is_large_image = image * window.out_height + out_row, b.constant(0, LLVMType("i1"))
    channels = (i64(b, 0), window.channels)
    return OutputRow(i64(b, 0), number, slot, tap_rows, *channels, ring.next_channel, is_large_image)
