"""Blocks of rows: divides the rows of a unit of work into register tiles (the loop over MR of BLIS).

The last tiles have one row less than the others if that avoids a nearly empty tile: 11 rows by a tile of 6 are 6 + 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.gemm.microkernel import MicrokernelEmitter
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class RowBlock:
    """The rows of one register tile: the block's number in the unit of work, its first row there, and how many rows it has."""

    index: LLVMValue
    first_row: LLVMValue
    num_rows: LLVMValue


class RowBlockEmitter(MicrokernelEmitter):
    """A microkernel emitter with the loop over row blocks."""

    def loop_row_blocks(self, count: LLVMValue, body: Callable[[RowBlock], None]) -> None:
        """Emits a loop over the blocks of `count` rows: full tiles, then those with one row less, if these even them out."""
        rows, zero = self.tile.rows, self.constant(0, I64)
        blocks = self.udiv(count + (rows - 1), rows)
        num_low = blocks * rows - count
        num_low = self.select(num_low <= blocks, num_low, zero)
        num_full = blocks - num_low

        def emit_block(i: LLVMValue) -> None:
            is_low = i >= num_full
            row = i * rows - self.select(is_low, i - num_full, zero)
            num_rows = self.select(is_low, rows - 1, self.constant(rows, I64))
            body(RowBlock(i, row, self.min(num_rows, count - row)))

        self.loop_call(zero, blocks, 1, emit_block, "block")


def rows_per_unit(rows: Known, tile_rows: int, target_rows: int) -> int:
    """The rows of a unit of work: whole tiles, about `target_rows`, and the same number in each unit."""
    if not isinstance(rows, int):
        return target_rows // tile_rows * tile_rows
    tiles = max(1, -(-rows // tile_rows))
    units = max(1, -(-tiles * tile_rows // target_rows))
    return -(-tiles // units) * tile_rows
