"""Tile nest: the register tiles of some rows over a block of terms, whatever the rows, the panels and the arithmetic are.

    for row_block in rows by MR:                            # `loop_row_blocks`: one register tile
        begin: zeros, the initial sums, or the sums of earlier terms of the block
        add the terms: a function of the number of rows
        add the sums of the blocks before; spill the sums, or apply the epilogue and store

Products, convolutions and products with block-quantized weights differ in the loops around this nest, and in how they add
terms: rows have addresses that are computed or read from a table, panels are packed, promoted or dequantized, and sums are
accumulated in vectors or in AMX tiles.

Blocks of terms are summed from zero and then added, so that the rounding error of a sum grows with the terms of a block and
the number of blocks, not with their product (Higham, "The Accuracy of Floating Point Summation", 1993).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    Microkernel,
    add_partial_sums,
    init_accumulators,
    load_accumulators,
)
from sardonyx._src.compile.kernels.gemm.tile.microkernel import dispatch_tile
from sardonyx._src.compile.kernels.gemm.tile.output import TileStore
from sardonyx._src.dataclass import dataclass

EmitRows: TypeAlias = Callable[[int], None]  # emits code for a number of rows of a tile


@dataclass(frozen=True, slots=True)
class EarlierSums:
    """Sums of earlier terms at an address, in rows of the tile's width; `exist` emits whether there are any."""

    address: str
    exist: Callable[[], LLVMValue]


@dataclass(frozen=True, slots=True)
class TileSums:
    """The sums of a tile before its terms are added, and their destination.

    store: where complete sums are stored, and others are spilled.
    is_first: whether the terms are the first ones, which are added to the initial sums; None: they always are.
    begin: emits the initial sums; None: they are zeros.
    resumed: the sums of earlier terms of the same block, to which the terms are added.
    added: the sums of the blocks before, which are added after the terms.
    """

    store: TileStore
    is_first: LLVMValue | None = None
    begin: EmitRows | None = None
    resumed: EarlierSums | None = None
    added: EarlierSums | None = None


def emit_tile(m: Microkernel, num_rows: LLVMValue, sums: TileSums, add_terms: EmitRows) -> None:
    """One register tile of `num_rows` rows: begins its sums, adds the terms, then stores or spills them.

    AMX tiles add all terms at once: their sums have no earlier terms, and are complete.
    """
    b = m.b
    if m.amx is not None:
        sums = TileSums(replace(sums.store, spill="", is_last=None), begin=sums.begin)
    for rows in dispatch_tile(m, num_rows, sums.store):
        begin_sums(m, rows, sums)
        add_terms(rows)
        if sums.added is not None:
            with b.if_then(sums.added.exist()):
                add_partial_sums(m, rows, sums.added.address)


def begin_sums(m: Microkernel, rows: int, sums: TileSums) -> None:
    """Initializes the accumulators of `rows` rows."""
    b = m.b
    if sums.begin is not None and sums.is_first is None:
        sums.begin(rows)
        return
    init_accumulators(m, rows)
    if sums.begin is not None and sums.is_first is not None:
        with b.if_then(sums.is_first):
            sums.begin(rows)
    if sums.resumed is not None:
        with b.if_then(sums.resumed.exist()):
            load_accumulators(m, rows, sums.resumed.address)
