"""Packed recurrent weights, and the register tile of their products.

Weights [gates, hidden, k] are packed to [hidden / lanes, k, gates, lanes], in blocks of one vector of hidden units, with
all that a block reads in order of the addresses.  Lanes past the last unit are padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.loops.memory import load_at, load_vector_at, store_at
from sardonyx._src.compile.kernels.reductions.reducers import new_slots
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning
from sardonyx._src.compile.program import Step, TensorView, row_major_strides
from sardonyx._src.compile.program.operands.lazy_constants import aligned_empty
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import ceil_div

Tile: TypeAlias = Sequence[Sequence[Sequence[MemoryLocation]]]


def packed_columns(gates: int, hidden: int, lanes: int) -> int:
    """The number of gate columns of packed weights, with padding."""
    return gates * -(-hidden // lanes) * lanes


def pack_weights(weights: Array, phases: Sequence[int], lanes: int) -> Array:
    """Packs constant weights [directions, gates, hidden, k], the gates of each phase by themselves: [directions, size]."""
    directions, _, hidden, k = weights.shape
    padded = np.pad(weights, ((0, 0), (0, 0), (0, -hidden % lanes), (0, 0)))
    blocks = padded.reshape(directions, -1, (hidden + lanes - 1) // lanes, lanes, k).transpose(0, 2, 4, 1, 3)
    result, first = aligned_empty((directions, padded.size // directions), weights.dtype), 0
    for part in np.split(blocks, np.cumsum(phases)[:-1], axis=3):
        columns = part.reshape(directions, -1)
        result[:, first : first + columns.shape[1]] = columns
        first += columns.shape[1]
    return result


def pack_weights_steps(
    weights: TensorView, packed: TensorView, phases: Sequence[int], lanes: int
) -> list[Step]:
    """The steps that pack weights [directions, gates, hidden, k], as `pack_weights` does, except for the padding."""
    directions, _, hidden, k = weights.shape
    assert isinstance(hidden, int), f"hidden size must be known; got {hidden}"
    full, steps, first, offset = hidden // lanes, list[Step](), 0, packed.offset
    for gates in phases:
        part = slice_axis(weights, 1, first, gates)
        shape = (directions, ceil_div(hidden, lanes), k, gates, lanes)
        strides = (packed.strides[0], *row_major_strides(shape[1:]))
        target = replace(packed, shape=shape, strides=strides, offset=offset)
        if full:
            steps.append(copy_step(block_view(part, 0, full, lanes), slice_axis(target, 1, 0, full)))
        if rest := hidden % lanes:
            end = slice_axis(slice_axis(target, 1, full, 1), 4, 0, rest)
            steps.append(copy_step(block_view(part, full * lanes, 1, rest), end))
        first, offset = first + gates, offset + strides[1] * shape[1]
    return steps


def block_view(weights: TensorView, first: int, blocks: int, lanes: int) -> TensorView:
    """The view [directions, blocks, k, gates, lanes] of weights [directions, gates, hidden, k] from a hidden unit on."""
    (directions, gates, _, k), (d, g, h, s) = weights.shape, weights.strides
    shape, strides = (directions, blocks, k, gates, lanes), (d, lanes * h, s, g, h)
    return replace(weights, shape=shape, strides=strides, offset=weights.offset + first * h)


# --- products --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of a product: rows of k elements, by number, and packed weights.

    weights: the address of a phase with k rows.  row: the address of a row of the other factor.
    """

    weights: str
    k: LLVMValue
    row: Callable[[LLVMValue], str]


@dataclass(frozen=True, slots=True)
class PackedProduct:
    """A sum of products of rows and packed weights: sums[row, gate, unit] of x[row, k] * weights[unit, k, gate].

    terms: the factors of each product, of phases with `gates` gates.  blocks: of hidden units.  results: the address of the
    sums of the first row and gate.  A gate is `gate_stride` elements from the one before.
    is_reversed: whether blocks are visited from the last to the first; None for no.
    """

    b: KernelBuilder
    vector_type: LLVMType
    terms: Sequence[Factors]
    gates: int
    blocks: LLVMValue
    results: str
    result_stride: LLVMValue
    gate_stride: LLVMValue
    is_reversed: LLVMValue | None = None

    def block_counts(self, rows: int) -> list[int]:
        """The numbers of blocks in tiles of some rows, in decreasing order, as registers allow."""
        most = self.b.target.registers * 3 // 4 // (self.gates * rows)
        return [count for count in (8, 4, 2, 1) if count <= max(most, 1)]

    def row_counts(self) -> list[int]:
        """The numbers of rows that tiles exist for, in decreasing order."""
        most = max(self.b.target.registers * 3 // 4 // self.gates, 1)
        return [rows for rows in RecurrenceTuning.tile_rows if rows <= most]

    def emit_rows(self, count: LLVMValue) -> None:
        """The products of `count` rows: weights are read once for a single row, otherwise into L1 for all rows."""
        b, first = self.b, self.b.constant(0, I64)
        with b.if_then(count.eq(1)):
            for block, blocks in self.loop_blocks(self.block_counts(1)):
                self.emit_tile(first, 1, block, blocks)
        with b.if_then(count > 1):
            rows_of_tiles = self.row_counts()
            for block, blocks in self.loop_blocks(self.block_counts(rows_of_tiles[0])):
                row = first
                for rows in rows_of_tiles:
                    with b.loop(row, count, rows, "row") as row:
                        self.emit_tile(row, rows, block, blocks)

    def loop_blocks(self, counts: Sequence[int]) -> Iterator[tuple[LLVMValue, int]]:
        """The body of a loop over the blocks, as many at a time as the first count, then as the others."""
        b, block = self.b, self.b.constant(0, I64)
        for count in counts:
            with b.loop(block, self.blocks, count, "block") as block:
                mirrored = self.blocks - block - count
                yield (
                    block if self.is_reversed is None else b.select(self.is_reversed, mirrored, block),
                    count,
                )

    def emit_tile(self, row: LLVMValue, rows: int, block: LLVMValue, count: int) -> None:
        """A register tile: some rows by `count` blocks of hidden units, read as as many streams."""
        b, element, lanes = self.b, self.vector_type.element, self.vector_type.lanes
        numbers = [row + i for i in range(rows)]
        results = [b.gep(self.results, number * self.result_stride, element) for number in numbers]
        tile = [[new_slots(b, self.vector_type, 0, count) for _ in range(self.gates)] for _ in numbers]
        for factors in self.terms:
            self.add_product(tile, numbers, factors, block)
        for address, sums in zip(results, tile, strict=True):
            for g, gate_sums in enumerate(sums):
                for v, slot in enumerate(gate_sums):
                    index = self.gate_stride * g + (block + v) * lanes
                    store_at(b, address, index, b.load(slot))

    def add_product(
        self, tile: Tile, numbers: Sequence[LLVMValue], factors: Factors, block: LLVMValue
    ) -> None:
        """Adds the product of some rows and blocks to a tile: sums by row, gate and block."""
        b, element, lanes = self.b, self.vector_type.element, self.vector_type.lanes
        x, row_size = [factors.row(number) for number in numbers], self.gates * lanes
        streams = [
            b.gep(factors.weights, (block + v) * (factors.k * row_size), element)
            for v in range(len(tile[0][0]))
        ]
        with b.loop(b.constant(0, I64), factors.k, name="k") as k:
            weights = [
                [load_vector_at(b, stream, k * row_size + g * lanes, self.vector_type) for stream in streams]
                for g in range(self.gates)
            ]
            for address, sums in zip(x, tile, strict=True):
                factor = b.splat(load_at(b, address, k, element), lanes)
                for gate_weights, gate_sums in zip(weights, sums, strict=True):
                    for weight, slot in zip(gate_weights, gate_sums, strict=True):
                        b.store(slot, b.fma(factor, weight, b.load(slot)))


def strided_rows(
    b: KernelBuilder, vector_type: LLVMType, first: str, stride: LLVMValue
) -> Callable[[LLVMValue], str]:
    """The address of a row by its number, of rows that are `stride` elements apart."""
    return lambda number: b.gep(first, number * stride, vector_type.element)
