"""Indirect convolution: an indirection buffer holds the address of the input of each row and tap.

    for row block: origins of its windows -> for tap: addresses of the tap in all windows      # by vectors of rows

The buffer is [row blocks, taps, MR] pointers in scratch, written for each group of rows before its GEMM.  Taps outside of
the image point to a row of padding, so that the microkernel has no bounds checks.  The origin of each row's window is
computed once; a tap adds the same offset to all origins.  Windows have any size, strides, dilations and pads.
Source: Dukhan, "The Indirect Convolution Algorithm" (2019).
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution, RowSource, emit_convolution
from sardonyx._src.compile.kernels.conv.variant import ConvVariant
from sardonyx._src.compile.kernels.conv.window_origins import (
    ORIGINS,
    WINDOW_SIZES,
    WindowGrid,
    load_origins,
    new_window_grid,
    store_block_origins,
)
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import RowBlock, loop_row_blocks
from sardonyx._src.compile.kernels.loops.vectors import loop_vectors, store_vector
from sardonyx._src.compile.kernels.tuning import ConvTuning, GemmTuning
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class IndirectionBuffer:
    """An indirection buffer for the windows of a grid, [rows, taps] pointers at the beginning of scratch.

    The partial sums [rows, width] and the row of padding [channels of all groups] follow in scratch.  `rows` is the number
    of rows of a group plus `spare_rows`.
    """

    conv: Convolution
    grid: WindowGrid
    partial_sums: str
    padding: str


def emit_indirect(conv: Convolution) -> None:
    emit_convolution(conv, indirect_rows(new_indirection_buffer(conv)))


INDIRECT = ConvVariant("indirect", emit_indirect, WINDOW_SIZES)


def new_indirection_buffer(conv: Convolution) -> IndirectionBuffer:
    """Divides scratch, and allocates the state of the grid."""
    b, size = conv.b, conv.size
    # Rounded up to 8 pointers, a cache line of 64 bytes, so that the partial sums are aligned.
    table_slots = (size["group_rows"] + GemmTuning.spare_rows) * size["taps"] + 7 & -8
    partial_sums = b.gep(b.scratch, table_slots, "i64")
    padding = b.gep(partial_sums, (size["group_rows"] + GemmTuning.spare_rows) * conv.m.tile.width)
    return IndirectionBuffer(conv, new_window_grid(b, size), partial_sums, padding)


def indirect_rows(buffer: IndirectionBuffer) -> RowSource:
    """Rows of the input x through an indirection buffer; taps outside of the image read zeros."""
    return RowSource(
        buffer.partial_sums,
        prepare_rows=partial(prepare_windows, buffer),
        input_addresses=partial(load_addresses, buffer),
        emit_prologue=partial(clear_padding, buffer),
    )


def clear_padding(buffer: IndirectionBuffer) -> None:
    """Zeroes the row of padding, to which taps outside of the image point."""
    fill_padding(buffer, buffer.conv.b.constant(0.0, buffer.conv.m.vector_type))


def fill_padding(buffer: IndirectionBuffer, value: LLVMValue) -> None:
    """Fills the row of padding, to which taps outside of the image point, with a vector."""
    conv = buffer.conv
    end = conv.size["groups"] * conv.group_channels
    b = conv.b
    for i, mask in loop_vectors(b, 0, end, conv.m.tile.lanes):
        store_vector(b, value, b.gep(buffer.padding, i), mask)


def prepare_windows(buffer: IndirectionBuffer, group: LLVMValue) -> None:
    """Begins a group of rows, and fills the buffer for its windows."""
    b, conv, size = buffer.conv.b, buffer.conv, buffer.conv.size
    first = group * size["group_rows"]
    b.store(conv.row_group.first_row, first)
    b.store(conv.row_group.num_rows, b.min(size["group_rows"], size["rows"] - first))
    line, x = b.udivmod(first, size["out_width"])
    image, y = b.udivmod(line, size["out_height"])
    for slot, value in zip(buffer.grid.position, (image, y, x), strict=True):
        b.store(slot, value)
    fill_indirection(buffer, conv.x)


def fill_indirection(buffer: IndirectionBuffer, images: str) -> None:
    """Fills the buffer for the group's windows, from the grid's position on; images: the address of the images."""
    b, conv, m = buffer.conv.b, buffer.conv, buffer.conv.m
    base, padding = pointer_to_int(b, images), pointer_to_int(b, buffer.padding)
    with loop_row_blocks(m, b.load(conv.row_group.num_rows)) as block:
        store_block_origins(buffer.grid, m.tile.rows, block.num_rows)
        table = b.gep(b.scratch, block.index * m.tile.rows * conv.size["taps"], "i64")
        fill_block(buffer, table, base, padding)


def fill_block(buffer: IndirectionBuffer, table: str, base: LLVMValue, padding: LLVMValue) -> None:
    """Writes the addresses of all taps of a block, in order: the next tap overwrites the lanes past the tile's rows."""
    b, tile, size = buffer.conv.b, buffer.conv.m.tile, buffer.grid.size
    splat, zero = partial(b.splat, lanes=ConvTuning.origin_lanes), b.constant(0, I64)
    starts = range(0, tile.rows, ConvTuning.origin_lanes)
    origins = [load_origin_addresses(b, start, base) for start in starts]
    outside = splat(padding)
    height, width = splat(size["height"]), splat(size["width"])
    with (
        b.loop(zero, size["kernel_height"], 1, "ky") as ky,
        b.loop(zero, size["kernel_width"], 1, "kx") as kx,
    ):
        dy, dx = ky * size["dilation_y"], kx * size["dilation_x"]
        step = splat((dy * size["row_stride"] + dx * size["pixel_stride"]) << 2)
        tap = (ky * size["kernel_width"] + kx) * tile.rows
        for start, (firsts, lines, pixels) in zip(starts, origins, strict=True):
            is_line = is_in_range(b, lines + splat(dy), height)
            is_pixel = is_line & is_in_range(b, pixels + splat(dx), width)
            addresses = b.select(is_pixel, firsts + step, outside)
            b.store(MemoryLocation(b.gep(table, tap + start, "i64"), ORIGINS), addresses)


def load_origin_addresses(
    b: KernelBuilder, row: int, base: LLVMValue
) -> tuple[LLVMValue, LLVMValue, LLVMValue]:
    """The origins of the vector of rows from `row` on: addresses, lines, pixels."""
    offsets, lines, pixels = load_origins(b, row)
    return (offsets << 2) + b.splat(base, ConvTuning.origin_lanes), lines, pixels


def load_addresses(
    buffer: IndirectionBuffer, rows: int, block: RowBlock, tap: LLVMValue, channel: LLVMValue
) -> list[str]:
    """The addresses of a channel, from the buffer."""
    b, conv = buffer.conv.b, buffer.conv
    first = (block.index * conv.size["taps"] + tap) * conv.m.tile.rows
    slots = [b.gep(b.scratch, first + r, "ptr") for r in range(rows)]
    return [b.gep(b.load_pointer(slot), channel) for slot in slots]


def is_in_range(b: KernelBuilder, index: LLVMValue, end: LLVMValue) -> LLVMValue:
    """0 <= index < end, by one unsigned comparison."""
    return b.emit(index.type.with_element("i1"), f"icmp ult {index}, {end.name}")


def pointer_to_int(b: KernelBuilder, address: str) -> LLVMValue:
    """An address as an integer."""
    return b.emit(I64, f"ptrtoint ptr {address} to i64")
