"""Rows of A times a panel of B: the loops over blocks of k and row blocks of a matrix product.

    for k_block in K by KC:                     # the block of the panel stays in the cache
        [promote the block to float32]          # a half-precision panel that many tiles read
        for part of the block:                  # short ones if memory limits the product, so that prefetched lines are used soon
            for row_block in rows by MR:        # a tile of `nest.py`, which prefetches a share of the next terms

Blocks depend only on k: a row has the same bits whatever the other rows, the tiles and the threads are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue
from sardonyx._src.compile.kernels.gemm.floats.low_rank import UpdateRows, accumulate_update
from sardonyx._src.compile.kernels.gemm.packing.promoted_panels import MAX_DIRECT_TILES, promote_panel
from sardonyx._src.compile.kernels.gemm.tile import nest
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    FLOAT32_ARITHMETIC,
    Microkernel,
    accumulate,
    accumulate_tiles,
    cache_line_elements,
    init_accumulators,
    panel_address,
)
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import AmxOperands, share_panel
from sardonyx._src.compile.kernels.gemm.tile.microkernel import clamp_row
from sardonyx._src.compile.kernels.gemm.tile.nest import EarlierSums, EmitRows, TileSums
from sardonyx._src.compile.kernels.gemm.tile.output import OutputMatrix, TileStore
from sardonyx._src.compile.kernels.gemm.tile.prefetch import (
    CACHE_LINE_BYTES,
    Prefetch,
    share_bytes,
    split_into_streams,
)
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import (
    RowBlock,
    count_blocks,
    divide_evenly,
    loop_row_blocks,
)
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.dataclass import dataclass

PREFETCHED_PANELS = 2  # of paired words, ahead of the panel that is multiplied


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelRows:
    """The product of some rows of A and one panel of B.

    a, panel, bias: addresses of A, of the panel and of its bias.
    a_row, a_step: the strides of A along the rows and along k; a_step is None if it is 1.
    first_row, num_rows, column, end_column: the rows of the output, the first column, that the product is stored to, and
        the end of all columns.
    update: the low-rank update, if there is one.
    map_row: emits the row of A for a row of the product; None if they are the same.
    """

    a: str
    a_row: LLVMValue
    a_step: LLVMValue | None = None
    panel: str
    k: LLVMValue
    bias: str | None = None
    output: OutputMatrix
    first_row: LLVMValue
    num_rows: LLVMValue
    column: LLVMValue
    end_column: LLVMValue
    update: UpdateRows | None = None
    map_row: Callable[[LLVMValue], LLVMValue] | None = None

    def row_of_a(self, row: LLVMValue) -> LLVMValue:
        return row if self.map_row is None else self.map_row(row)


@dataclass(frozen=True, slots=True)
class PrefetchShare:
    """The bytes of B that a row block prefetches for each term, and whether they are at most `sparse_prefetch_bytes`."""

    bytes_per_term: LLVMValue
    is_sparse: LLVMValue


@dataclass(frozen=True, slots=True)
class TermRange:
    """A range of terms (indices along k) that one pass over the rows adds.

    prefetches: the prefetches of a row block if B is large; else None.
    has_next: whether the panel has more terms after these in memory, which can be prefetched.
    next_block: the address of the next terms, if the panel of this range is a copy; empty otherwise.
    block: the first term of the block of k to which the range belongs; a block is summed from zero.  None: k is not
        divided into blocks.
    ends_block: whether the range contains the last term of its block; None if it always does.
    """

    first: LLVMValue
    count: LLVMValue
    prefetches: PrefetchShare | None
    has_next: bool = True
    next_block: str = ""
    block: LLVMValue | None = None
    ends_block: LLVMValue | None = None


def emit_rows(
    m: Microkernel,
    rows: PanelRows,
    k_blocks: tuple[LLVMValue, LLVMValue],
    *,
    is_large: bool,
) -> None:
    """The loops over blocks of k, of about equal length, and row blocks; k_blocks: the length and the number of the blocks.

    If B is large, each row block prefetches an equal share of the next terms of the panel.  A small share means that memory
    is fast enough; prefetches are then sparse, since they occupy the line fill buffers through which the microkernel loads
    the panel.  A large share means that memory limits the product; blocks are then divided into short parts, so that
    prefetched lines are used soon.
    """
    b, (k_block, num_blocks) = m.b, k_blocks
    prefetches, part_length = None, k_block
    if is_large:
        share = share_bytes(b, panel_row_bytes(m), count_blocks(b, m.tile, rows.num_rows))
        is_sparse = share <= GemmTuning.sparse_prefetch_bytes
        prefetches = PrefetchShare(share, is_sparse)
        short, _ = divide_evenly(b, k_block, b.min(k_block, GemmTuning.short_k_block))
        part_length = b.select(is_sparse, k_block, short)
    with b.loop(b.constant(0, I64), num_blocks, 1, "k_block") as i:
        block = i * k_block
        count = b.min(k_block, rows.k - block)
        if prefetches is None:
            emit_k_block(m, rows, TermRange(block, count, None, block=block))
        else:
            with b.loop(b.constant(0, I64), count + (part_length - 1), part_length, "part") as part:
                ends_block, length = part + part_length >= count, b.min(part_length, count - part)
                terms = TermRange(block + part, length, prefetches, block=block, ends_block=ends_block)
                emit_k_block(m, rows, terms)


def emit_k_block(m: Microkernel, rows: PanelRows, terms: TermRange) -> None:
    """All rows over a block of k; a half-precision block that many tiles read is promoted to float32 once, in scratch."""
    b = m.b
    # Panels of a low-rank update have the element type of B: a microkernel for promoted panels could not read them.
    if m.arithmetic.half_type is None or rows.update is not None:
        emit_row_blocks(m, rows, terms)
    else:
        is_many = rows.num_rows > MAX_DIRECT_TILES * m.tile.rows
        with b.if_then(is_many):
            promoted = promote_panel(m, rows.panel, terms.first, terms.count)
            next_block = panel_address(m, rows.panel, (terms.first + terms.count) * m.tile.width)
            emit_row_blocks(
                replace(m, arithmetic=FLOAT32_ARITHMETIC),
                replace(rows, panel=promoted),
                replace(terms, next_block=next_block),
            )
        with b.if_then(is_many.eq(0)):
            emit_row_blocks(m, rows, terms)


def emit_row_blocks(m: Microkernel, rows: PanelRows, terms: TermRange) -> None:
    """The register tiles of all rows over a block of k."""
    with loop_row_blocks(m, rows.num_rows) as block:
        emit_tile(m, rows, block, terms)


def emit_tile(m: Microkernel, unit: PanelRows, block: RowBlock, terms: TermRange) -> None:
    """One register tile: adds the terms to the bias and the update, or to the sums of the terms before."""
    spill, resumed, added = earlier_sums(m, block, terms)
    first = unit.first_row + block.first_row
    panel = panel_address(m, unit.panel, terms.first * m.panel_row)
    is_first, is_last = terms.first.eq(0), terms.first + terms.count >= unit.k
    has_start = unit.bias is not None or unit.update is not None
    begin = partial(begin_sums, m, unit, block, first) if has_start else None
    store = TileStore(unit.output, first, unit.column, unit.end_column, spill, is_last)
    add: EmitRows = partial(add_products, m, unit, block, first, panel, terms)
    if m.amx is not None:
        add = amx_products(m, unit, block, first, panel, terms)
    nest.emit_tile(m, block.num_rows, TileSums(store, is_first, begin, resumed, added), add)


def earlier_sums(
    m: Microkernel, block: RowBlock, terms: TermRange
) -> tuple[str, EarlierSums | None, EarlierSums | None]:
    """The address to which a tile spills its sums, and the sums that it resumes and adds (`TileSums`).

    Blocks are divided into parts only for few rows.  The sums of an unfinished block are then in the second half of the
    scratch, after the sums of the finished blocks.
    """
    b, tile, first_of_block = m.b, m.tile, terms.block
    sums = b.gep(b.scratch, block.index * (tile.rows * tile.width))  # room for whole tiles
    if first_of_block is None:
        return sums, EarlierSums(sums, partial(terms.first.ne, 0)), None
    if terms.ends_block is None:
        return sums, None, EarlierSums(sums, partial(first_of_block.ne, 0))
    half, ends_block = GemmTuning.max_rows // 2, terms.ends_block
    assert panel_row_bytes(m) // GemmTuning.sparse_prefetch_bytes * tile.rows <= half, "partial sums must fit"
    unfinished = b.gep(sums, b.constant(half * tile.width, I64))
    spill = b.select_pointer(ends_block, sums, unfinished)
    resumed = EarlierSums(unfinished, partial(terms.first.ne, first_of_block))
    return spill, resumed, EarlierSums(spill, lambda: first_of_block.ne(0) & ends_block)


def begin_sums(m: Microkernel, unit: PanelRows, block: RowBlock, first: LLVMValue, rows: int) -> None:
    """The initial sums of `rows` rows of a block: the bias, or the low-rank update."""
    init_accumulators(m, rows, unit.bias)
    if unit.update is not None:
        accumulate_update(m, unit.update, first, block, rows)


def add_products(
    m: Microkernel,
    unit: PanelRows,
    block: RowBlock,
    first: LLVMValue,
    panel: str,
    terms: TermRange,
    rows: int,
) -> None:
    """Adds the terms of `rows` rows to accumulators in vectors."""
    b = m.b
    starts = row_starts(m, unit, first, block.num_rows, rows)
    offset = terms.first if unit.a_step is None else terms.first * unit.a_step
    addresses = [b.gep(unit.a, start + offset) for start in starts]
    if terms.has_next and m.arithmetic.accumulate is not None:
        accumulate(
            m, addresses, panel, terms.count, prefetch=share_of_next_panels(m, unit, block, panel, terms)
        )
    elif terms.has_next:
        accumulate_terms(m, addresses, panel, block, terms, unit.a_step)
    else:
        accumulate(m, addresses, panel, terms.count, unit.a_step)


def row_starts(
    m: Microkernel, unit: PanelRows, first: LLVMValue, num_rows: LLVMValue, rows: int
) -> list[LLVMValue]:
    """The offsets in A of `rows` rows of a tile that has `num_rows` rows from `first` on."""
    return [unit.row_of_a(first + clamp_row(m.b, r, num_rows)) * unit.a_row for r in range(rows)]


def amx_products(
    m: Microkernel, unit: PanelRows, block: RowBlock, first: LLVMValue, panel: str, terms: TermRange
) -> EmitRows:
    """Adds the terms, which are all of k, to AMX tiles."""
    assert m.amx is not None, "the microkernel must have AMX tiles"
    left = m.b.gep(unit.a, first * unit.a_row)
    next_panel = panel_address(m, panel, terms.count * m.tile.width)
    share = share_panel(m.b, m.amx, next_panel, block.index, count_blocks(m.b, m.tile, unit.num_rows))
    return partial(accumulate_tiles, m, AmxOperands(left, unit.a_row, panel, terms.count, share))


def share_of_next_panels(
    m: Microkernel, unit: PanelRows, block: RowBlock, panel: str, terms: TermRange
) -> Prefetch:
    """An equal share for each row block of the next two panels, at most a cache line for each term.

    Paired words are prefetched before any is multiplied, so that few rows need more than the next panel.
    """
    b, count = m.b, terms.count
    share = share_bytes(b, PREFETCHED_PANELS * panel_row_bytes(m), count_blocks(b, m.tile, unit.num_rows))
    share = b.min(share, CACHE_LINE_BYTES)
    next_panel = panel_address(m, panel, count * m.panel_row)
    return Prefetch(b.gep(next_panel, block.index * count * share, "i8"), share)


def accumulate_terms(
    m: Microkernel,
    rows: Sequence[str],
    panel: str,
    block: RowBlock,
    terms: TermRange,
    stride: LLVMValue | None,
) -> None:
    """`accumulate` with prefetches: each row block prefetches a share of the panel's next block."""
    b, count = m.b, terms.count
    next_block = terms.next_block or panel_address(m, panel, count * m.panel_row)
    if terms.prefetches is None:
        line = b.min(block.index, -(-panel_row_bytes(m) // CACHE_LINE_BYTES) - 1)
        address = b.gep(next_block, line * count * CACHE_LINE_BYTES, "i8")
        accumulate(m, rows, panel, count, stride, None if len(rows) == 1 else Prefetch(address))
        return
    share, is_sparse = terms.prefetches.bytes_per_term, terms.prefetches.is_sparse
    address = b.gep(next_block, block.index * count * share, "i8")
    dense = Prefetch(address, share, 1 << (panel_row_bytes(m) - 1).bit_length())
    if len(rows) == 1:
        accumulate(m, rows, panel, count, stride, split_into_streams(b, dense, panel_row_bytes(m), count))
        return
    is_dense = is_sparse.eq(0)
    with b.if_then(is_dense):
        accumulate(m, rows, panel, count, stride, dense)
    with b.if_then(is_sparse):
        sparse = Prefetch(address, share, GemmTuning.sparse_prefetch_bytes)
        accumulate(m, rows, panel, count, stride, sparse)


def panel_row_bytes(m: Microkernel) -> int:
    """The bytes of a row of a panel of B."""
    return m.panel_row * CACHE_LINE_BYTES // cache_line_elements(m)
