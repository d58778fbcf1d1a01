"""Packed rows: the windows of a group of output pixels as rows of words in scratch, which AMX tiles load (im2row).

    for output pixel of the group: for line of its window: copy the terms inside of the image, padding around them
        or, where the pixels of a line are not contiguous, for pixel: copy its channels, or padding

A word is 32 bits: two bfloat16 or four int8.  The stride between rows is an odd number of cache lines, so that the rows of a
tile lie in different sets of the cache.  A packer copies the terms: it rounds float32 to bfloat16, or copies int8 unchanged.
Every line, or every pixel, begins at a whole word; a row is padded with zeros to the words of whole tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.conv.indirection import is_in_range
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution, RowSource, emit_convolution
from sardonyx._src.compile.kernels.conv.variant import ConvVariant
from sardonyx._src.compile.kernels.conv.window_origins import (
    WINDOW_SIZES,
    WindowGrid,
    advance_position,
    new_window_grid,
)
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import BF16_ARITHMETIC, BF16_LANES
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import BF16_PER_WORD, copy_rounded, round_to_words
from sardonyx._src.compile.kernels.gemm.tile.accumulators import TileArithmetic
from sardonyx._src.compile.kernels.gemm.tile.microkernel import clamp_row
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import RowBlock
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, load_vector, loop_vectors, store_vector
from sardonyx._src.dataclass import dataclass

# pixel_terms: the elements of a pixel of x.  pixel_words, line_words: the words of a pixel and of a line of a window.
# packed_stride: words between rows in scratch.
PACKED_SIZES = ("pixel_terms", "pixel_words", "line_words", "packed_stride")


@dataclass(frozen=True, slots=True)
class LineTerms:
    """The terms [first, end) of a line of a window that are inside of the image, and the number of words of the line."""

    first: LLVMValue
    end: LLVMValue
    words: LLVMValue


CopyRange: TypeAlias = "Callable[[KernelBuilder, str, str, LineTerms, LLVMValue], None]"


@dataclass(frozen=True, slots=True)
class RowPacker:
    """Functions that copy pixels into rows of words.

    key: part of the kernel's cache key.
    arithmetic: the arithmetic of the products of words.
    copy: copies terms, given (source, target, number of terms, number of words); words after the terms become zeros.
    copy_range: copies `LineTerms`, given (source, target, terms, padding); words around the terms become padding.
    padding: emits a vector of words for pixels outside of the image, once in a call.
    pointers: the names of kernel parameters that `padding` reads.
    """

    key: str
    arithmetic: TileArithmetic
    copy: Callable[[KernelBuilder, str, str, LLVMValue, LLVMValue], None]
    copy_range: CopyRange
    padding: Callable[[KernelBuilder], LLVMValue]
    pointers: tuple[str, ...] = ()


def zero_words(b: KernelBuilder) -> LLVMValue:
    return b.constant(0, LLVMType("i32", b.target.lanes))


def copy_rounded_range(
    b: KernelBuilder, source: str, target: str, terms: LineTerms, _padding: LLVMValue
) -> None:
    """Copies a range of float32 as words of bfloat16, with zeros around it."""
    with b.loop(b.constant(0, I64), terms.words + (BF16_LANES - 1), BF16_LANES, "word") as word:
        halves = []
        for part in range(BF16_PER_WORD):
            start = word * BF16_PER_WORD + part * BF16_LANES
            mask = first_lanes(b, terms.end - start) & (first_lanes(b, terms.first - start) ^ -1)
            halves.append(load_vector(b, b.gep(source, start), mask))
        store_vector(b, round_to_words(b, *halves), b.gep(target, word), first_lanes(b, terms.words - word))


BF16_PACKER = RowPacker("bf16", BF16_ARITHMETIC, copy_rounded, copy_rounded_range, zero_words)


def packed_windows(packer: RowPacker, *, has_lines: bool) -> ConvVariant:
    """The variant for windows of any geometry; has_lines: whether the pixels of a line of a window are contiguous."""
    emit = partial(emit_packed_windows, packer=packer, has_lines=has_lines)
    key = f"{packer.key}_{'lines' if has_lines else 'windows'}"
    return packed_variant(packer, key, emit, WINDOW_SIZES)


def packed_pixels(packer: RowPacker) -> ConvVariant:
    """The variant for 1x1 windows: each pixel of x is a row, and pixels are one stride apart."""
    emit = partial(emit_packed_pixels, packer=packer)
    return packed_variant(packer, f"{packer.key}_pixels", emit, ("pixel_stride",))


def packed_variant(
    packer: RowPacker, key: str, emit: Callable[[Convolution], None], sizes: tuple[str, ...]
) -> ConvVariant:
    all_sizes = (*sizes, *PACKED_SIZES)
    return ConvVariant(key, emit, all_sizes, packer.pointers, packer.arithmetic, has_indirection_buffer=False)


# --- rows in scratch --------------------------------------------------------------------------


def emit_packed_pixels(conv: Convolution, packer: RowPacker) -> None:
    emit_convolution(conv, packed_source(conv, partial(pack_pixels, conv, packer)))


def emit_packed_windows(conv: Convolution, packer: RowPacker, *, has_lines: bool) -> None:
    grid, padding = new_window_grid(conv.b, conv.size), packer.padding(conv.b)
    prepare = partial(pack_windows, conv, packer, grid, padding, has_lines=has_lines)
    emit_convolution(conv, packed_source(conv, prepare))


def packed_source(conv: Convolution, prepare_rows: Callable[[LLVMValue], None]) -> RowSource:
    """The source of rows in scratch, [group_rows, packed_stride] words; the partial sums follow the rows in scratch."""
    b, size = conv.b, conv.size
    partial_sums = b.gep(b.scratch, size["group_rows"] * size["packed_stride"])

    def row_addresses(rows: int, block: RowBlock, _tap: LLVMValue, channel: LLVMValue) -> list[str]:
        first = b.gep(b.scratch, block.first_row * size["packed_stride"] + channel)
        return [b.gep(first, clamp_row(b, r, block.num_rows) * size["packed_stride"]) for r in range(rows)]

    return RowSource(partial_sums, prepare_rows, row_addresses, row_stride=size["packed_stride"])


def begin_group(conv: Convolution, group: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """Stores and returns the first row of a group and the number of its rows."""
    b, size = conv.b, conv.size
    first = group * size["group_rows"]
    count = b.min(size["group_rows"], size["rows"] - first)
    b.store(conv.row_group.first_row, first)
    b.store(conv.row_group.num_rows, count)
    return first, count


def pack_pixels(conv: Convolution, packer: RowPacker, group: LLVMValue) -> None:
    """Packs the pixels of a group."""
    b, size = conv.b, conv.size
    first, count = begin_group(conv, group)
    with b.loop(b.constant(0, I64), count, 1, "row") as row:
        source = b.gep(conv.x, (first + row) * size["pixel_stride"])
        target = b.gep(b.scratch, row * size["packed_stride"])
        packer.copy(b, source, target, size["pixel_terms"], size["channels"])


def pack_windows(
    conv: Convolution,
    packer: RowPacker,
    grid: WindowGrid,
    padding: LLVMValue,
    group: LLVMValue,
    *,
    has_lines: bool,
) -> None:
    """Packs the windows of a group."""
    b, size = conv.b, conv.size
    first, count = begin_group(conv, group)
    line, x = b.udivmod(first, size["out_width"])
    image, y = b.udivmod(line, size["out_height"])
    for slot, value in zip(grid.position, (image, y, x), strict=True):
        b.store(slot, value)
    with b.loop(b.constant(0, I64), count, 1, "row") as row:
        window = WindowRow(conv, packer, padding, b.gep(b.scratch, row * size["packed_stride"]))
        pack_window(window, grid, has_lines=has_lines)
        advance_position(grid, b.constant(1, I64))


@dataclass(frozen=True, slots=True)
class WindowRow:
    """A row that is being packed, at an address in scratch."""

    conv: Convolution
    packer: RowPacker
    padding: LLVMValue
    address: str


def pack_window(row: WindowRow, grid: WindowGrid, *, has_lines: bool) -> None:
    """Packs the window at the position of the grid."""
    conv, b, size = row.conv, row.conv.b, row.conv.size
    image, y, x = (b.load(slot) for slot in grid.position)
    top, left = y * size["stride_y"] - size["top"], x * size["stride_x"] - size["left"]
    pixels = b.gep(conv.x, image * size["image_stride"] + left * size["pixel_stride"])
    pack_line = pack_contiguous_line if has_lines else pack_separate_pixels
    with b.loop(b.constant(0, I64), size["kernel_height"], 1, "ky") as ky:
        line = top + ky * size["dilation_y"]
        is_line = is_in_range(b, line, size["height"])
        target = b.gep(row.address, ky * size["line_words"])
        with b.if_then(is_line):
            pack_line(row, b.gep(pixels, line * size["row_stride"]), target, left)
        with b.if_then(is_line.eq(0)):
            fill_words(b, target, size["line_words"], row.padding)
    end = size["kernel_height"] * size["line_words"]
    fill_words(b, b.gep(row.address, end), size["channels"] - end, zero_words(b))


def pack_contiguous_line(row: WindowRow, source: str, target: str, left: LLVMValue) -> None:
    """Packs a line of a window with contiguous pixels; left: the first pixel's index in the image line, possibly outside."""
    b, size, packer = row.conv.b, row.conv.size, row.packer
    zero, width = b.constant(0, I64), size["kernel_width"]
    first = b.select(left < 0, zero - left, zero)
    end = b.min(width, size["width"] - left)
    is_inside = first.eq(0) & end.eq(width)
    with b.if_then(is_inside):
        packer.copy(b, source, target, width * size["pixel_terms"], size["line_words"])
    with b.if_then(is_inside.eq(0)):
        terms = LineTerms(first * size["pixel_terms"], end * size["pixel_terms"], size["line_words"])
        packer.copy_range(b, source, target, terms, row.padding)


def pack_separate_pixels(row: WindowRow, source: str, target: str, left: LLVMValue) -> None:
    """Packs a line of a window pixel by pixel."""
    b, size, packer = row.conv.b, row.conv.size, row.packer
    with b.loop(b.constant(0, I64), size["kernel_width"], 1, "kx") as kx:
        step = kx * size["dilation_x"]
        is_pixel = is_in_range(b, left + step, size["width"])
        pixel_target = b.gep(target, kx * size["pixel_words"])
        with b.if_then(is_pixel):
            pixel = b.gep(source, step * size["pixel_stride"])
            packer.copy(b, pixel, pixel_target, size["pixel_terms"], size["pixel_words"])
        with b.if_then(is_pixel.eq(0)):
            fill_words(b, pixel_target, size["pixel_words"], row.padding)


def fill_words(b: KernelBuilder, target: str, count: LLVMValue, words: LLVMValue) -> None:
    """Stores a vector of words over `count` words."""
    for i, mask in loop_vectors(b, 0, count):
        store_vector(b, words, b.gep(target, i), mask)


# --- arguments --------------------------------------------------------------------------------


def packed_stride(row_words: int) -> int:
    """The words between rows: at least `row_words`, and an odd number of cache lines."""
    lines = -(-row_words * 4 // 64)
    return (lines | 1) * 16
