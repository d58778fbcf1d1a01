"""Products of int8 rows with block-quantized weights, for the rows of a unit of work.

Register tiles over all of K unpack codes in registers.  The first tile reads the panel from memory, the others from the cache,
so that a few rows take little longer than one.  Codes that are unpacked once for all tiles would have twice as many bytes or
more, which the other tiles would read.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.block_quantized.blocks import BlockFormat
from sardonyx._src.compile.kernels.block_quantized.int8_tiles import accumulate_blocks
from sardonyx._src.compile.kernels.gemm.floats.panel_rows import PanelRows, row_starts
from sardonyx._src.compile.kernels.gemm.tile import nest
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel
from sardonyx._src.compile.kernels.gemm.tile.nest import TileSums
from sardonyx._src.compile.kernels.gemm.tile.output import TileStore
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import loop_row_blocks


def emit_int8_rows(m: Microkernel, format_: BlockFormat, unit: PanelRows) -> None:
    """A loop over register tiles, each over all of K."""
    b = m.b
    num_blocks = b.udiv(unit.k + (format_.size - 1), format_.size)
    with loop_row_blocks(m, unit.num_rows) as block:
        first = unit.first_row + block.first_row

        def add_blocks(rows: int) -> None:
            starts = row_starts(m, unit, first, block.num_rows, rows)
            addresses = [b.gep(unit.a, start, "i8") for start in starts]
            accumulate_blocks(m, addresses, unit.panel, num_blocks, format_)

        store = TileStore(unit.output, first, unit.column, unit.end_column)
        nest.emit_tile(m, block.num_rows, TileSums(store), add_blocks)
