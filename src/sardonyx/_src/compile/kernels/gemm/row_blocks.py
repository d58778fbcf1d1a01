"""Blocks of rows: divides the rows of a unit of work into register tiles (the loop over MR of BLIS).

The last tiles have one row less than the others if that avoids a nearly empty tile: 11 rows by a tile of 6 are 6 + 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.gemm.accumulators import Microkernel
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class RowBlock:
    """The rows of one register tile: the block's number in the unit of work, its first row there, and how many rows it has."""

    index: LLVMValue
    first_row: LLVMValue
    num_rows: LLVMValue


@contextmanager
def loop_row_blocks(m: Microkernel, count: LLVMValue) -> Iterator[RowBlock]:
    """A loop over the blocks of `count` rows: full tiles, then those with one row less, if these even them out."""
    b, rows, zero = m.b, m.tile.rows, m.b.constant(0, I64)
    blocks = b.udiv(count + (rows - 1), rows)
    num_low = blocks * rows - count
    num_low = b.select(num_low <= blocks, num_low, zero)
    num_full = blocks - num_low
    with b.loop(zero, blocks, 1, "block") as i:
        is_low = i >= num_full
        row = i * rows - b.select(is_low, i - num_full, zero)
        num_rows = b.select(is_low, rows - 1, b.constant(rows, I64))
        yield RowBlock(i, row, b.min(num_rows, count - row))


def rows_per_unit(rows: Known, tile_rows: int, target_rows: int) -> int:
    """The rows of a unit of work: whole tiles, about `target_rows`, and the same number in each unit."""
    if not isinstance(rows, int):
        return target_rows // tile_rows * tile_rows
    tiles = max(1, -(-rows // tile_rows))
    units = max(1, -(-tiles * tile_rows // target_rows))
    return -(-tiles // units) * tile_rows
