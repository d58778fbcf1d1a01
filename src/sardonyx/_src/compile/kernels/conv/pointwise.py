"""Pointwise (1x1, stride 1) convolutions: a GEMM with the input as left operand, a matrix [pixels, channels].

The address of a row is computed from its number, without an indirection buffer; pixels are `pixel_stride` elements apart.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.kernels.conv.loop_nest import Convolution, RowSource, emit_convolution
from sardonyx._src.compile.kernels.conv.variant import ConvVariant
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import RowBlock


def emit_pointwise(conv: Convolution) -> None:
    base = conv.b.new_slot("base", I64)  # the offset of the first input of the group of rows
    source = RowSource(
        conv.b.scratch,
        prepare_rows=partial(prepare_pixels, conv, base),
        input_addresses=partial(pixel_addresses, conv, base),
        next_input_address=partial(next_pixel_address, conv, base),
        row_stride=conv.size["pixel_stride"],
    )
    emit_convolution(conv, source)


POINTWISE = ConvVariant("pointwise", emit_pointwise, ("pixel_stride",), has_indirection_buffer=False)


def prepare_pixels(conv: Convolution, base: MemoryLocation, group: LLVMValue) -> None:
    """Begins a group of rows."""
    b, size = conv.b, conv.size
    row = group * size["group_rows"]
    b.store(conv.row_group.first_row, row)
    b.store(conv.row_group.num_rows, b.min(size["group_rows"], size["rows"] - row))
    b.store(base, row * size["pixel_stride"])


def pixel_addresses(
    conv: Convolution, base: MemoryLocation, rows: int, block: RowBlock, _tap: LLVMValue, channel: LLVMValue
) -> list[str]:
    """The addresses of a channel of the pixels of a block."""
    # Lazy: only the text of a kernel needs it.
    from sardonyx._src.compile.kernels.gemm.tile.microkernel import clamped_rows

    b, stride = conv.b, conv.size["pixel_stride"]
    first = b.gep(conv.x, b.load(base) + block.first_row * stride + channel)
    return [b.gep(first, row * stride) for row in clamped_rows(conv.m, rows, block.num_rows)]


def next_pixel_address(conv: Convolution, base: MemoryLocation, block: RowBlock) -> str:
    """The address of the pixel that has the same index in the next group as the first pixel of a block in this one."""
    b = conv.b
    row = b.load(conv.row_group.num_rows) + block.first_row
    return b.gep(conv.x, b.load(base) + row * conv.size["pixel_stride"])
