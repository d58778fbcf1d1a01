"""Gradient of a convolution by its weights: dw [M, C / groups, taps] = sum over pixels p of dy[p, m] * x[pixel of p and tap, c].

    for unit (channel group, panel of dy, block of input channels):    # units of work
        for block of output pixels:                                    # its part of the panel stays in the L1 cache
            for register tile of input channels, for tap:
                for output line: microkernel over its pixels; add the tile to the sums
        transpose the sums [channels * taps, columns] into dw

It is a product over all output pixels: columns are output channels, rows input channels at a tap.  The left operand is read
from the image, where the pixels that a tap reads are `stride` pixels apart in a line, so there is no im2col matrix; pixels
outside of the image are left out.  Images are channels-last.

The products of a block are summed from zero, and then added to the sums of the blocks before: the rounding error of a sum grows
with the terms of a block and the number of blocks, not with all pixels (Higham, "The Accuracy of Floating Point Summation", 1993).
Blocks depend only on the sizes, so that the bits of a sum do not depend on threads, tiles or channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    FLOAT32_ARITHMETIC,
    Microkernel,
    accumulate,
    add_partial_sums,
    init_accumulators,
    make_microkernel,
    spill_accumulators,
)
from sardonyx._src.compile.kernels.gemm.tile.microkernel import clamp_row, dispatch_row_count
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS, Prefetch
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import RowBlock, loop_row_blocks
from sardonyx._src.compile.kernels.loops.lanes import transpose
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    i64,
    load_vector,
    loop_blocks,
    loop_vectors,
    sdiv,
    store_vector,
    urem,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.dataclass import dataclass

SIZES = (
    "height", "width", "images", "out_height", "out_width", "kernel_height", "kernel_width", "stride_y", "stride_x",
    "dilation_y", "dilation_x", "top", "left", "image_stride", "row_stride", "pixel_stride",
    "channels", "columns", "panels", "block_channels", "channel_blocks", "block_lines", "block_pixels",
)  # fmt: skip
PARAMETERS = Parameters("x", "panels_dy", "dw", *SIZES)


@dataclass(frozen=True, slots=True)
class WeightGradient:
    """The kernel of a gradient.

    x, panels, dw: the addresses of x, of the panels of dy, and of dw.
    size: the integer arguments by name.
    taps: the number of taps.
    table: the address of the table of lines in scratch, two i64 for each output line of a block of pixels: the offset of
        the line's image in x, and the line of the image that the first tap reads.
    sums: the address of the sums in scratch.
    """

    m: Microkernel
    x: str
    panels: str
    dw: str
    size: Mapping[str, LLVMValue]
    taps: LLVMValue
    table: str
    sums: str

    @property
    def b(self) -> KernelBuilder:
        return self.m.b


@dataclass(frozen=True, slots=True)
class PixelBlock:
    """Output pixels [first_x, end_x) of `num_lines` lines from `first_line` on, counted through all images."""

    first_line: LLVMValue
    num_lines: LLVMValue
    first_x: LLVMValue
    end_x: LLVMValue


def weight_gradient_module(name: str, target: Target, *, vectors: int) -> str:
    """The LLVM module of the kernel for panels of `vectors` vectors."""
    b = KernelBuilder(target, PARAMETERS)
    m = make_microkernel(b, make_tile(vectors, target), Epilogue(), FLOAT32_ARITHMETIC)
    x, panels, dw = b.pointers("x", "panels_dy", "dw")
    size = {name: b.integer(name) for name in SIZES}
    sums = b.gep(b.scratch, size["block_lines"] * 2, "i64")
    w = WeightGradient(m, x, panels, dw, size, size["kernel_height"] * size["kernel_width"], b.scratch, sums)
    lines = size["images"] * size["out_height"]
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        item, channel_block = b.udivmod(unit, size["channel_blocks"])
        group, panel = b.udivmod(item, size["panels"])
        channel = channel_block * size["block_channels"]
        count = b.min(size["block_channels"], size["channels"] - channel)
        image = b.gep(x, group * size["channels"] + channel)
        panel_address = b.gep(panels, item * (lines * size["out_width"] * m.tile.width))
        clear_sums(w, count)
        with (
            loop_pixel_blocks(w, lines) as block,
            loop_row_blocks(m, count) as rows,
        ):
            add_pixels(w, block, rows, image, panel_address)
        column = panel * m.tile.width
        target_row = group * size["columns"] + column
        store_sums(w, b.gep(dw, (target_row * size["channels"] + channel) * w.taps), count, column)
    return b.build_module(name)


def clear_sums(w: WeightGradient, count: LLVMValue) -> None:
    """Zeroes the sums of `count` channels and of the surplus rows of the last tile."""
    b = w.b
    end = (count + GemmTuning.spare_rows) * w.taps * w.m.tile.width
    for i, mask in loop_vectors(b, 0, end):
        store_vector(b, zeros(b), b.gep(w.sums, i), mask)


@contextmanager
def loop_pixel_blocks(w: WeightGradient, lines: LLVMValue) -> Iterator[PixelBlock]:
    """A loop over blocks of output pixels, with the table of their lines."""
    b, size = w.b, w.size
    with b.loop(i64(b, 0), lines + (size["block_lines"] - 1), size["block_lines"], "lines") as line:
        num_lines = b.min(size["block_lines"], lines - line)
        fill_table(w, line, num_lines)
        with b.loop(
            i64(b, 0), size["out_width"] + (size["block_pixels"] - 1), size["block_pixels"], "pixels"
        ) as x:
            end = b.min(x + size["block_pixels"], size["out_width"])
            yield PixelBlock(line, num_lines, x, end)


def fill_table(w: WeightGradient, first: LLVMValue, count: LLVMValue) -> None:
    """Writes the table of lines for a block."""
    b, size = w.b, w.size
    with b.loop(i64(b, 0), count, name="line") as i:
        image, y = b.udivmod(first + i, size["out_height"])
        b.store(table_slot(b, w.table, i * 2), image * size["image_stride"])
        b.store(table_slot(b, w.table, i * 2 + 1), y * size["stride_y"] - size["top"])


def table_slot(b: KernelBuilder, table: str, index: LLVMValue) -> MemoryLocation:
    return MemoryLocation(b.gep(table, index, "i64"), I64)


def add_pixels(w: WeightGradient, block: PixelBlock, rows: RowBlock, image: str, panel: str) -> None:
    """Adds the products of a block of pixels to the sums of a tile of channels, for all taps."""
    b, m, size = w.b, w.m, w.size
    row_stride = w.taps * m.tile.width
    with (
        b.loop(i64(b, 0), size["kernel_height"], name="ky") as ky,
        b.loop(i64(b, 0), size["kernel_width"], name="kx") as kx,
    ):
        tap = ky * size["kernel_width"] + kx
        sums = b.gep(w.sums, (rows.first_row * w.taps + tap) * m.tile.width)
        shift = kx * size["dilation_x"] - size["left"]
        first, end = pixels_inside(w, block, shift)
        covered = 0
        for count in dispatch_row_count(b, rows.num_rows, m.tile.row_counts):
            is_exact, covered = count == covered + 1, count
            init_accumulators(m, count)
            with b.loop(i64(b, 0), block.num_lines, name="line") as line:
                start = b.load(table_slot(b, w.table, line * 2))
                y = b.load(table_slot(b, w.table, line * 2 + 1)) + ky * size["dilation_y"]
                is_inside = (y >= 0) & (y < size["height"]) & (first < end)
                with b.if_then(is_inside):
                    pixel = start + y * size["row_stride"]
                    pixel = pixel + (first * size["stride_x"] + shift) * size["pixel_stride"]
                    address = b.gep(image, pixel + rows.first_row)
                    channels = [
                        b.gep(address, i64(b, r) if is_exact else clamp_row(b, r, rows.num_rows))
                        for r in range(count)
                    ]
                    position = (block.first_line + line) * size["out_width"] + first
                    terms = b.gep(panel, position * m.tile.width)
                    stride, prefetch = size["stride_x"] * size["pixel_stride"], next_block(w, terms, tap)
                    accumulate(m, channels, terms, end - first, stride, prefetch)
            add_partial_sums(m, count, sums, row_stride)
            spill_accumulators(m, count, sums, row_stride)


def next_block(w: WeightGradient, terms: str, tap: LLVMValue) -> Prefetch:
    """The prefetch of a tap: for each pixel, one cache line of the pixel at the same position in the next block of dy."""
    b, size, width = w.b, w.size, w.m.tile.width
    line = urem(b, tap, i64(b, max(1, width // CACHE_LINE_FLOATS))) * CACHE_LINE_FLOATS
    distance = size["block_lines"] * size["out_width"] * width
    return Prefetch(b.gep(terms, distance + line), i64(b, width * 4))


def pixels_inside(w: WeightGradient, block: PixelBlock, shift: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """The pixels [first, end) of a block's lines for which a tap reads inside of the image: 0 <= x * stride + shift < width."""
    b, size, stride = w.b, w.size, w.size["stride_x"]
    before, after = 0 - shift, size["width"] - shift
    # Division truncates negative numbers towards 0; `block.first_x` then replaces results below it.
    first = sdiv(b, before + (stride - 1), stride)
    end = sdiv(b, after + (stride - 1), stride)
    first = b.select(first < block.first_x, block.first_x, first)
    return first, b.min(end, block.end_x)


def store_sums(w: WeightGradient, dw: str, count: LLVMValue, column: LLVMValue) -> None:
    """Transposes the sums [count * taps, columns] into rows of dw, by blocks of [lanes, lanes]."""
    b, lanes, size, width = w.b, w.b.target.lanes, w.size, w.m.tile.width
    rows, row_floats = count * w.taps, size["channels"] * w.taps
    columns = b.min(size["columns"] - column, width)
    with (
        loop_blocks(b, columns, lanes, "column") as first,
        loop_blocks(b, rows, lanes, "row") as row,
    ):
        block = [load_vector(b, b.gep(w.sums, (row + i) * width + first)) for i in range(lanes)]
        mask = first_lanes(b, rows - row, lanes)
        target = b.gep(dw, first * row_floats + row)
        for i, vector in enumerate(transpose(b, block)):
            with b.if_then(first + i < columns):
                store_vector(b, vector, b.gep(target, row_floats * i), mask)
