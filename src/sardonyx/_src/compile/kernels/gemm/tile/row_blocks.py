"""Blocks of rows: divides the rows of a unit of work into register tiles (the loop over MR of BLIS), and the rows of a call
into chunks that stay in a cache.

The last tiles have one row less than the others if that avoids a nearly empty tile: 11 rows by a tile of 6 are 6 + 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known

MIN_BALANCE_GAIN = 0.02  # least gain that justifies another division, as a share of the time of one thread


@dataclass(frozen=True, slots=True)
class RowBlock:
    """The rows of one register tile: the number of the block in the unit of work, its first row in the unit, and its row count."""

    index: LLVMValue
    first_row: LLVMValue
    num_rows: LLVMValue


def count_blocks(b: KernelBuilder, tile: RegisterTile, rows: LLVMValue) -> LLVMValue:
    """The number of register tiles of `rows` rows."""
    return b.udiv(rows + (tile.rows - 1), tile.rows)


@contextmanager
def loop_row_blocks(m: Microkernel, count: LLVMValue) -> Iterator[RowBlock]:
    """A loop over the blocks of `count` rows: full tiles, then those with one row less, if these even them out.

    Code exists for the number of rows of each block but the last.  Only the last block may have surplus rows
    (`dispatch_row_count`).
    """
    b, rows, zero = m.b, m.tile.rows, m.b.constant(0, I64)
    blocks = count_blocks(b, m.tile, count)
    num_low = blocks * rows - count
    num_low = b.select(num_low <= blocks, num_low, zero) if m.tile.has_low_blocks else zero
    num_full = blocks - num_low
    with b.loop(zero, blocks, 1, "block") as i:
        is_low = i >= num_full
        row = i * rows - b.select(is_low, i - num_full, zero)
        num_rows = b.select(is_low, rows - 1, b.constant(rows, I64))
        yield RowBlock(i, row, b.min(num_rows, count - row))


@dataclass(frozen=True, slots=True)
class RowChunk:
    """Rows from `first` to `end`: all panels of a call are multiplied by them before the next chunk begins."""

    first: LLVMValue
    end: LLVMValue


@contextmanager
def loop_chunks(
    b: KernelBuilder, rows: LLVMValue, chunk_rows: LLVMValue, is_one_item: LLVMValue
) -> Iterator[RowChunk]:
    """A loop over chunks of at most `chunk_rows` rows, which stay in a cache while the panels of a large B stream through it.

    One chunk with all rows unless the call only has panels of the first batch item (`is_one_item`): other items have other
    rows and panels.
    """
    length, _ = divide_evenly(b, rows, chunk_rows)
    length = b.select(is_one_item, length, rows)
    with b.loop(b.constant(0, I64), rows + length - 1, length, "chunk") as first:
        yield RowChunk(first, first + length)


def divide_evenly(b: KernelBuilder, total: LLVMValue, limit: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """The length of equal blocks, at most `limit` (the last one may be shorter), and their number, at least 1."""
    count = b.udiv(total + limit - 1, limit)
    count = b.select(count < 1, b.constant(1, I64), count)
    return b.udiv(total + count - 1, count), count


def rows_per_unit(rows: Known, tile_rows: int, target_rows: int) -> int:
    """The rows of a unit of work: whole tiles, about `target_rows`, and the same number in each unit."""
    if not isinstance(rows, int):
        return target_rows // tile_rows * tile_rows
    tiles = max(1, -(-rows // tile_rows))
    units = max(1, -(-tiles * tile_rows // target_rows))
    return -(-tiles // units) * tile_rows


def balanced_rows_per_unit(rows: Known, panels: Known, tile_rows: int, target_rows: int) -> int:
    """`rows_per_unit`, but with one more group of rows if that divides the work of two threads more evenly.

    A unit is a group of rows by a panel.  Few units, or an odd number of them, leave one of two threads without work.
    """
    size = rows_per_unit(rows, tile_rows, target_rows)
    if not isinstance(rows, int) or not isinstance(panels, int) or rows <= tile_rows or panels == 0:
        return size
    tiles, group_tiles = -(-rows // tile_rows), size // tile_rows
    fewer_tiles = -(-tiles // (-(-tiles // group_tiles) + 1))
    gain = imbalance(tiles, group_tiles, panels) - imbalance(tiles, fewer_tiles, panels)
    return size if gain < MIN_BALANCE_GAIN else fewer_tiles * tile_rows


def imbalance(tiles: int, group_tiles: int, panels: int) -> float:
    """The share of the work, above one half, of the thread with more of it, if each of two threads has half of the units."""
    total, groups = tiles * panels, -(-tiles // group_tiles)
    whole_groups, more_panels = divmod(groups * panels // 2, panels)
    before = whole_groups * group_tiles
    in_half = before * panels + more_panels * min(group_tiles, tiles - before)
    return max(in_half, total - in_half) / total - 0.5
