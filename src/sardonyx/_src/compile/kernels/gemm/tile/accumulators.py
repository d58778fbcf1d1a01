"""Register tile accumulation: adds A @ B over a block of k to accumulators in vector registers, by rank-1 updates.

    for k: load a row of the panel of B [width]; for each row of A: broadcast its element k; multiply, add to the tile

B is a packed panel [k, width], A is given by the address of each row.  Terms are added in the order of k, so that the bits
of a sum do not depend on the number of rows of the tile.  A `TileArithmetic` defines the element types.  This file has the
arithmetic of float32, where B may be of half precision; `integer_microkernel.py` has that of int8 dot products.
Source: Goto and van de Geijn (2008); the microkernel of BLIS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from sardonyx._src.compile.codegen import I64, Element, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.element_types import convert
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import (
    AmxOperands,
    AmxTiles,
    clear_tiles,
    load_tiles,
    multiply_tiles,
    new_amx_tiles,
    release_tiles,
    store_tiles,
)
from sardonyx._src.compile.kernels.gemm.tile.prefetch import (
    CACHE_LINE_BYTES,
    CACHE_LINE_FLOATS,
    Prefetch,
    prefetch_term,
)
from sardonyx._src.compile.kernels.gemm.tile.quantized_rows import match_quantized_result
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile
from sardonyx._src.compile.kernels.loops.vectors import prefetch as prefetch_l1
from sardonyx._src.compile.kernels.tuning import GemmTuning, tuning_for
from sardonyx._src.dataclass import dataclass

F32 = LLVMType("float")

Accumulate: TypeAlias = "Callable[[Microkernel, Sequence[str], str, LLVMValue, Prefetch | None], None]"
RankOneUpdate: TypeAlias = "Callable[[Microkernel, Sequence[str], str, LLVMValue, LLVMValue | None], None]"
PREFETCHED_ROWS = 8  # the row of an unpacked B that is prefetched is so far after the row that is multiplied


@dataclass(frozen=True, slots=True)
class TileArithmetic:
    """The element types of a GEMM, and the instructions that they need.

    accumulator: the element type of the sums.
    update: emits a rank-1 update, given the addresses of rows of A, a panel, k, and the stride of A along k (1 if None).
    half_type: the element type of a half-precision B; None if elements of B have 4 bytes, float32 or words of four int8.
    amx_instruction: the LLVM intrinsic that multiplies AMX tiles; empty if there is none for these types.
    accumulate: emits all updates of a panel instead of `update`, given the addresses of rows of A, the panel, k and prefetches.
    panel_row: the elements of 4 bytes in memory for each k of a panel, given its columns; None: as many as columns.
    """

    accumulator: Element
    update: RankOneUpdate
    half_type: Element | None = None
    amx_instruction: str = ""
    accumulate: Accumulate | None = None
    panel_row: Callable[[int], int] | None = None


@dataclass(frozen=True, slots=True)
class Microkernel:
    """A register tile in the kernel of a builder, with the arithmetic of its sums and the epilogue of its results.

    accumulators: for each row of the tile, a stack slot for each vector, which LLVM promotes to registers.
    spill: the address of memory on the stack for the sums of one tile.
    amx: the configuration of the AMX tiles, which replace the accumulators; None without AMX.
    """

    b: KernelBuilder
    tile: RegisterTile
    epilogue: Epilogue
    arithmetic: TileArithmetic
    accumulators: tuple[tuple[MemoryLocation, ...], ...]
    spill: str
    amx: AmxTiles | None = None

    @property
    def vector_type(self) -> LLVMType:
        """The type of an accumulator."""
        return LLVMType(self.arithmetic.accumulator, self.tile.lanes)

    @property
    def panel_row(self) -> int:
        """The elements in memory for each k of a panel of B."""
        width, panel_row = self.tile.width, self.arithmetic.panel_row
        return width if panel_row is None else panel_row(width)


def make_microkernel(
    b: KernelBuilder, tile: RegisterTile, epilogue: Epilogue, arithmetic: TileArithmetic
) -> Microkernel:
    """Allocates the accumulators and the spill area of a tile."""
    amx = new_amx_tiles(b, tile.vectors, tile.amx_words) if tile.amx_words else None
    accumulators = () if amx else new_accumulators(b, tile, arithmetic)
    b.allocas.append(f" %spill = alloca [{tile.rows * tile.width} x float], align 64")
    # The vectors of a quantized epilogue exceed the registers, and are spilled to the stack.
    b.aligns_stack = match_quantized_result(epilogue, b.target) is not None
    return Microkernel(b, tile, epilogue, arithmetic, accumulators, "%spill", amx)


def release_microkernel(m: Microkernel) -> None:
    """Ends a kernel: releases AMX tiles."""
    if m.amx is not None:
        release_tiles(m.b)


def new_accumulators(
    b: KernelBuilder, tile: RegisterTile, arithmetic: TileArithmetic
) -> tuple[tuple[MemoryLocation, ...], ...]:
    """Allocates the accumulators of a tile."""
    vector_type = LLVMType(arithmetic.accumulator, tile.lanes)
    return tuple(tuple(b.new_slot("sum", vector_type) for _ in range(tile.vectors)) for _ in range(tile.rows))


# --- accumulators and memory ---------------------------------------------------------------------


def init_accumulators(m: Microkernel, rows: int, bias: str | None = None) -> None:
    """Initializes the accumulators of `rows` rows with the bias [width] at an address, or with 0."""
    if bias is not None:
        load_accumulators(m, rows, bias, m.b.constant(0, I64))
        return
    if m.amx is not None:
        clear_tiles(m.b, m.amx, rows)
    for accumulators in m.accumulators[:rows]:
        for slot in accumulators:
            m.b.store(slot, m.b.constant(0.0, m.vector_type))


def load_accumulators(
    m: Microkernel, rows: int, partial_sums: str, row_stride: LLVMValue | None = None
) -> None:
    """Loads the accumulators from partial sums, whose rows are `row_stride` floats apart (the tile's width if None)."""
    if m.amx is not None:
        load_tiles(m.b, m.amx, rows, partial_sums, stride_or_width(m, row_stride))
    for slot, memory in spill_slots(m, rows, partial_sums, row_stride):
        m.b.store(slot, m.b.load(memory))


def spill_accumulators(
    m: Microkernel, rows: int, partial_sums: str, row_stride: LLVMValue | None = None
) -> None:
    """Stores the accumulators as partial sums, for `load_accumulators`."""
    if m.amx is not None:
        store_tiles(m.b, m.amx, rows, partial_sums, stride_or_width(m, row_stride))
    for slot, memory in spill_slots(m, rows, partial_sums, row_stride):
        m.b.store(memory, m.b.load(slot))


def add_partial_sums(
    m: Microkernel, rows: int, partial_sums: str, row_stride: LLVMValue | None = None
) -> None:
    """Adds partial sums, whose rows are `row_stride` floats apart (the tile's width if None), to the accumulators."""
    assert m.amx is None, "AMX tiles cannot be added to memory"
    for slot, memory in spill_slots(m, rows, partial_sums, row_stride):
        m.b.store(slot, m.b.load(memory) + m.b.load(slot))


def spill_slots(
    m: Microkernel, rows: int, partial_sums: str, row_stride: LLVMValue | None
) -> list[tuple[MemoryLocation, MemoryLocation]]:
    """Pairs of an accumulator and its memory among the partial sums."""
    b, row_stride = m.b, stride_or_width(m, row_stride)
    pairs = []
    for r, accumulators in enumerate(m.accumulators[:rows]):
        row = b.gep(partial_sums, row_stride * r)
        for v, slot in enumerate(accumulators):
            pairs.append((slot, vector_slot(m, row, b.constant(v * m.tile.lanes, I64))))
    return pairs


def stride_or_width(m: Microkernel, row_stride: LLVMValue | None) -> LLVMValue:
    return m.b.constant(m.tile.width, I64) if row_stride is None else row_stride


def vector_slot(m: Microkernel, base: str, index: LLVMValue) -> MemoryLocation:
    """The memory of a vector of the accumulators' type, at an element of 4 bytes."""
    return MemoryLocation(m.b.gep(base, index), m.vector_type)


# --- accumulation --------------------------------------------------------------------------------


def accumulate(
    m: Microkernel,
    rows: Sequence[str],
    panel: str,
    k: LLVMValue,
    stride: LLVMValue | None = None,
    prefetch: Prefetch | None = None,
    row_stride: LLVMValue | None = None,
) -> None:
    """Adds A[r, :k] @ B[:k, :width] to the accumulators of each row r.

    rows: addresses of rows of A; their elements are `stride` floats apart (1 if None).
    panel: address of B [k, width]; its rows are `row_stride` floats apart (the tile's width if None).
    """
    b = m.b
    if m.arithmetic.accumulate is not None:
        assert stride is None and row_stride is None, "rows of A and panels of B must be contiguous"
        m.arithmetic.accumulate(m, rows, panel, k, prefetch)
        return
    update = partial(update_term, m, rows, panel, stride, row_stride)
    tuning = tuning_for(b.target).gemm
    unroll = max(tuning.min_unroll, tuning.min_unrolled_fmas // (m.tile.vectors * len(rows)))
    unroll = 1 << unroll.bit_length() - 1  # a power of two
    if prefetch is not None:
        unroll = max(unroll, CACHE_LINE_BYTES // prefetch.max_bytes)
    first_left = b.constant(0, I64)
    if unroll > 1:
        with b.loop(first_left, k, unroll, "k") as i:
            for offset in range(unroll):
                if prefetch is not None and offset * prefetch.max_bytes % CACHE_LINE_BYTES == 0:
                    prefetch_term(b, prefetch, i + offset)
                update(i + offset)
        first_left = i
    with b.loop(first_left, k, 1, "k") as i:
        if prefetch is not None:
            prefetch_term(b, prefetch, i)
        update(i)


def accumulate_tiles(m: Microkernel, operands: AmxOperands, rows: int) -> None:
    """`accumulate` for AMX tiles: adds the products of their operands to the accumulators of `rows` rows."""
    assert m.amx is not None, "the microkernel must have AMX tiles"
    multiply_tiles(m.b, m.amx, m.arithmetic.amx_instruction, operands, rows)


def update_term(
    m: Microkernel,
    rows: Sequence[str],
    panel: str,
    stride: LLVMValue | None,
    row_stride: LLVMValue | None,
    k: LLVMValue,
) -> None:
    """Adds the outer product of column k of A and row k of B; prefetches later elements of operands that are not contiguous."""
    b, tile = m.b, m.tile
    prefetch_column(m, rows, k, stride)
    if row_stride is None:
        m.arithmetic.update(m, rows, panel, k, stride)
        return
    later = (k + PREFETCHED_ROWS) * row_stride
    for column in range(0, tile.width, CACHE_LINE_FLOATS):
        prefetch_l1(b, b.gep(panel, later + column))
    a_index = k if stride is None else k * stride
    row = b.gep(panel, k * row_stride)
    m.arithmetic.update(m, [b.gep(a, a_index) for a in rows], row, b.constant(0, I64), None)


def prefetch_column(m: Microkernel, rows: Sequence[str], k: LLVMValue, stride: LLVMValue | None) -> None:
    """Prefetches a later column of a strided A into L1: hardware prefetchers do not follow strides across pages."""
    if stride is not None and len(rows) == m.tile.rows:
        prefetch_l1(m.b, m.b.gep(rows[0], (k + GemmTuning.strided_prefetch_terms) * stride))


# --- float32, and B of half precision ------------------------------------------------------------


def float32_update(
    m: Microkernel, rows: Sequence[str], panel: str, k: LLVMValue, stride: LLVMValue | None
) -> None:
    """Adds the outer product of column k of A and row k of B, in float32."""
    b, base = m.b, k * m.tile.width
    factors = [load_panel_vector(m, panel, base + v * m.tile.lanes) for v in range(m.tile.vectors)]
    a_index = k if stride is None else k * stride
    for row, accumulators in zip(rows, m.accumulators, strict=False):
        a = b.splat(b.load(MemoryLocation(b.gep(row, a_index), F32)), m.tile.lanes)
        for slot, factor in zip(accumulators, factors, strict=True):
            b.store(slot, b.fma(a, factor, b.load(slot)))


FLOAT32_ARITHMETIC = TileArithmetic("float", float32_update)


def load_panel_vector(m: Microkernel, panel: str, index: LLVMValue) -> LLVMValue:
    """A vector of B as float32."""
    half_type = m.arithmetic.half_type
    if half_type is None:
        return m.b.load(vector_slot(m, panel, index))
    slot = MemoryLocation(panel_address(m, panel, index), LLVMType(half_type, m.tile.lanes))
    return convert(m.b, m.b.load(slot), "float")


def panel_address(m: Microkernel, base: str, index: LLVMValue) -> str:
    """The address of an element of B."""
    return m.b.gep(base, index, "float" if m.arithmetic.half_type is None else "i16")


def cache_line_elements(m: Microkernel) -> int:
    """The number of elements of B in a cache line."""
    return CACHE_LINE_FLOATS if m.arithmetic.half_type is None else 2 * CACHE_LINE_FLOATS
