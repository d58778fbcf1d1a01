"""Products of int8 rows with block-quantized weights, for the rows of a unit of work: a function for few rows, and one for many.

With few rows, one register tile over all of K unpacks codes in registers.  With many rows, the codes of a part of K are
unpacked into scratch, after the partial sums, and the register tiles of all rows read them there.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.block_quantized.blocks import BlockFormat, terms_per_part
from sardonyx._src.compile.kernels.block_quantized.int8_rows import quantized_block_bytes
from sardonyx._src.compile.kernels.block_quantized.int8_tiles import (
    accumulate_packed,
    accumulate_unpacked,
    unpack_span,
)
from sardonyx._src.compile.kernels.gemm.accumulators import Microkernel, init_accumulators, load_accumulators
from sardonyx._src.compile.kernels.gemm.loop_nest import PanelRows
from sardonyx._src.compile.kernels.gemm.microkernel import clamp_row, dispatch_tile
from sardonyx._src.compile.kernels.gemm.output import TileStore
from sardonyx._src.compile.kernels.gemm.row_blocks import loop_row_blocks
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.tuning.tuning import GemmTuning


def emit_few_int8_rows(
    m: Microkernel, size: Mapping[str, LLVMValue], format_: BlockFormat, unit: PanelRows
) -> None:
    """One register tile over all of K."""
    b = m.b
    num_blocks = count_blocks(b, size, format_)
    tile_store = TileStore(unit.output, unit.first_row, unit.column, size["columns"])
    for rows in dispatch_tile(m, unit.num_rows, tile_store):
        init_accumulators(m, rows)
        starts = [(unit.first_row + clamp_row(b, r, unit.num_rows)) * size["a_row"] for r in range(rows)]
        accumulate_packed(
            m, [b.gep(unit.a, start, "i8") for start in starts], unit.panel, num_blocks, format_
        )


def emit_many_int8_rows(
    m: Microkernel, size: Mapping[str, LLVMValue], format_: BlockFormat, unit: PanelRows
) -> None:
    """A loop over parts of K: unpacks the codes of a part into scratch, then computes the register tiles of all rows."""
    b, tile, part_blocks = m.b, m.tile, terms_per_part(format_) // format_.size
    codes = b.gep(b.scratch, i64(b, (GemmTuning.max_rows + GemmTuning.spare_rows) * tile.width))
    num_blocks = count_blocks(b, size, format_)
    with b.loop(i64(b, 0), num_blocks + (part_blocks - 1), part_blocks, "part") as first_block:
        count = b.min(num_blocks - first_block, part_blocks)
        packed = b.gep(unit.panel, first_block * format_.block_bytes, "i8")
        unpack_span(b, packed, count, format_, codes)
        a = b.gep(unit.a, first_block * quantized_block_bytes(format_), "i8")
        is_first, is_last = first_block.eq(0), first_block + count >= num_blocks
        with loop_row_blocks(m, unit.num_rows) as block:
            first = unit.first_row + block.first_row
            sums = b.gep(b.scratch, block.index * (tile.rows * tile.width))
            tile_store = TileStore(unit.output, first, unit.column, size["columns"], sums, is_last)
            for rows in dispatch_tile(m, block.num_rows, tile_store):
                init_accumulators(m, rows)
                with b.if_then(is_first.eq(0)):
                    load_accumulators(m, rows, sums)
                starts = [(first + clamp_row(b, r, block.num_rows)) * size["a_row"] for r in range(rows)]
                addresses = [b.gep(a, start, "i8") for start in starts]
                accumulate_unpacked(m, addresses, packed, codes, count, format_)


def count_blocks(b: KernelBuilder, size: Mapping[str, LLVMValue], format_: BlockFormat) -> LLVMValue:
    return b.udiv(size["k"] + (format_.size - 1), format_.size)
