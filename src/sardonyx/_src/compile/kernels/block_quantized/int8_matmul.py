"""Products of int8 rows with block-quantized weights, for the rows of a unit of work: a function for few rows, and one for many.

With few rows, one register tile over all of K unpacks codes in registers.  With many rows, the codes of a part of K are
unpacked into scratch, after the partial sums, and the register tiles of all rows read them there.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.block_quantized.blocks import BlockFormat, terms_per_part
from sardonyx._src.compile.kernels.block_quantized.int8_rows import quantized_block_bytes
from sardonyx._src.compile.kernels.block_quantized.int8_tiles import (
    accumulate_packed,
    accumulate_unpacked,
    unpack_span,
)
from sardonyx._src.compile.kernels.gemm.floats.panel_rows import PanelRows, row_starts
from sardonyx._src.compile.kernels.gemm.tile import nest
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel
from sardonyx._src.compile.kernels.gemm.tile.nest import EarlierSums, TileSums
from sardonyx._src.compile.kernels.gemm.tile.output import TileStore
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import loop_row_blocks
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.tuning import GemmTuning


def emit_few_int8_rows(m: Microkernel, format_: BlockFormat, unit: PanelRows) -> None:
    """One register tile over all of K."""
    num_blocks = count_blocks(m.b, unit.k, format_)
    store = TileStore(unit.output, unit.first_row, unit.column, unit.end_column)

    def add_blocks(rows: int) -> None:
        starts = row_starts(m, unit, unit.first_row, unit.num_rows, rows)
        addresses = [m.b.gep(unit.a, start, "i8") for start in starts]
        accumulate_packed(m, addresses, unit.panel, num_blocks, format_)

    nest.emit_tile(m, unit.num_rows, TileSums(store), add_blocks)


def emit_many_int8_rows(m: Microkernel, format_: BlockFormat, unit: PanelRows) -> None:
    """A loop over parts of K: unpacks the codes of a part into scratch, then computes the register tiles of all rows."""
    b, tile, part_blocks = m.b, m.tile, terms_per_part(format_) // format_.size
    codes = b.gep(b.scratch, i64(b, (GemmTuning.max_rows + GemmTuning.spare_rows) * tile.width))
    num_blocks = count_blocks(b, unit.k, format_)
    with b.loop(i64(b, 0), num_blocks + (part_blocks - 1), part_blocks, "part") as first_block:
        count = b.min(num_blocks - first_block, part_blocks)
        packed = b.gep(unit.panel, first_block * format_.block_bytes, "i8")
        unpack_span(b, packed, count, format_, codes)
        a = b.gep(unit.a, first_block * quantized_block_bytes(format_), "i8")
        is_first, is_last = first_block.eq(0), first_block + count >= num_blocks
        with loop_row_blocks(m, unit.num_rows) as block:
            first = unit.first_row + block.first_row
            sums = b.gep(b.scratch, block.index * (tile.rows * tile.width))
            store = TileStore(unit.output, first, unit.column, unit.end_column, sums, is_last)

            def add_blocks(rows: int, first: LLVMValue = first, num_rows: LLVMValue = block.num_rows) -> None:
                starts = row_starts(m, unit, first, num_rows, rows)
                addresses = [b.gep(a, start, "i8") for start in starts]
                accumulate_unpacked(m, addresses, packed, codes, count, format_)

            resumed = EarlierSums(sums, partial(is_first.eq, 0))
            nest.emit_tile(m, block.num_rows, TileSums(store, resumed=resumed), add_blocks)


def count_blocks(b: KernelBuilder, k: LLVMValue, format_: BlockFormat) -> LLVMValue:
    return b.udiv(k + (format_.size - 1), format_.size)
