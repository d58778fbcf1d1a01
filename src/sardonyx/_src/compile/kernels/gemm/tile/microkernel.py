"""GEMM microkernel: accumulates one register tile by rank-1 updates over k, then applies the epilogue and stores it.

The tile is [rows, vectors * lanes]; A is given by the address of each row, B by a packed panel [k, width].  The loop nest
around it is that of a matrix product, a convolution, or any kernel that can compute the addresses of rows of A:

    b = KernelBuilder(target, Parameters("a", "b", ...) + output_parameters(epilogue))
    m = make_microkernel(b, tile, epilogue, FLOAT32_ARITHMETIC)
    output = load_output_matrix(b, epilogue)
    ...
        for rows in dispatch_tile(m, rows_left, TileStore(output, row, column, end_column)):
            init_accumulators(m, rows, bias)                # or load_accumulators(m, rows, partial_sums)
            accumulate(m, row_addresses, panel, k)          # once for each block of k

A tile is stored from registers if it is full and its epilogue cheap; otherwise it is spilled and stored by a loop.
Source: the microkernel of BLIS (Van Zee and van de Geijn), after Goto and van de Geijn (2008).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, Target
from sardonyx._src.compile.codegen.expressions import FUNCTION_CALLS, Apply, Select, topological_order
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    Microkernel,
    spill_accumulators,
)
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import configure_rows
from sardonyx._src.compile.kernels.gemm.tile.output import TileStore
from sardonyx._src.compile.kernels.gemm.tile.tile_store import (
    is_full_width,
    result_vector_type,
    store_spilled_tile,
    store_tile,
)
from sardonyx._src.compile.kernels.loops.vectors import has_masks
from sardonyx._src.compile.kernels.tuning import tuning_for

# Of which a tile has too many instructions if they are emitted for each of its vectors.
SLOW_OPERATIONS = FUNCTION_CALLS | {"reciprocal"}


def dispatch_tile(m: Microkernel, rows_left: LLVMValue, tile_store: TileStore) -> Iterator[int]:
    """Computes a tile of the `rows_left` rows that remain, at most a full tile, and stores or spills it.

    `for rows in dispatch_tile(...)`: the body accumulates `rows` rows; it is emitted for a full tile and for shorter tiles,
    as in `dispatch_row_count`.
    """
    b, spill = m.b, tile_store.spill or m.spill
    if m.amx is not None:
        configure_rows(b, m.amx, rows_left)
    from_registers = stores_registers(m, rows_left, tile_store)
    for rows in dispatch_row_count(b, rows_left, m.tile.row_counts):
        yield rows
        if rows == m.tile.rows and m.amx is None:
            store_or_spill(m, from_registers, spill, tile_store)
        else:
            spill_accumulators(m, rows, spill)
    is_spilled = from_registers.eq(0)
    if tile_store.is_last is not None:
        is_spilled = is_spilled & tile_store.is_last
    with b.if_then(is_spilled):
        store_spilled_tile(m, rows_left, spill, tile_store)


def dispatch_row_count(b: KernelBuilder, rows_left: LLVMValue, row_counts: Sequence[int]) -> Iterator[int]:
    """`for rows in dispatch_row_count(...)`: emits the body for each row count, ascending; the least sufficient one runs.

    The body may compute more rows than are left.  These *surplus rows* have meaningless sums, and the body must

    - read for them any rows that are readable, such as the last one (`clamp_row`);
    - store only the rows that are left, as `dispatch_tile` does;
    - keep their partial sums (`spill_accumulators`, `add_partial_sums`) in memory that belongs to no other row: a whole
      tile for each block, or rows after the last block, since `loop_row_blocks` yields no other block with surplus rows.
    """
    covered = 0
    for rows in row_counts:
        fits = rows_left > covered
        if rows < row_counts[-1]:
            fits = fits & (rows_left <= rows)
        with b.if_then(fits):
            yield rows
        covered = rows


def store_or_spill(m: Microkernel, from_registers: LLVMValue, spill: str, tile_store: TileStore) -> None:
    """Stores a full tile from registers if the condition holds; spills it otherwise."""
    b = m.b
    if has_masks(result_vector_type(m)):
        is_full = is_full_width(m, tile_store)
        with b.if_then(from_registers & is_full):
            store_tile(m, tile_store, masked=False)
        with b.if_then(from_registers & is_full.eq(0)):
            store_tile(m, tile_store, masked=True)
    else:
        with b.if_then(from_registers):
            store_tile(m, tile_store, masked=False)
    with b.if_then(from_registers.eq(0)):
        spill_accumulators(m, m.tile.rows, spill)


def stores_registers(m: Microkernel, rows_left: LLVMValue, tile_store: TileStore) -> LLVMValue:
    """Whether a tile is stored from registers, without a spill: a full, complete one with a cheap epilogue."""
    if m.amx is not None or not is_cheap(m.epilogue, m.b.target):
        return m.b.constant(0, LLVMType("i1"))
    is_complete = rows_left >= m.tile.rows
    if not has_masks(result_vector_type(m)):
        is_complete &= is_full_width(m, tile_store)
    return is_complete if tile_store.is_last is None else is_complete & tile_store.is_last


def is_cheap(epilogue: Epilogue, target: Target) -> bool:
    """Whether an epilogue has so few instructions that they may be emitted for every vector of a tile."""
    operations = [node for node in topological_order(epilogue.expression) if isinstance(node, Apply | Select)]
    return len(operations) <= tuning_for(target).gemm.max_inline_operations and all(
        isinstance(node, Select) or node.op not in SLOW_OPERATIONS for node in operations
    )


def clamped_rows(m: Microkernel, rows: int, num_rows: LLVMValue) -> list[LLVMValue]:
    """The numbers of the first `rows` rows of a tile, in code for as many rows (`clamp_row`)."""
    if m.tile.is_exact(rows):
        return [m.b.constant(row, I64) for row in range(rows)]
    return [clamp_row(m.b, row, num_rows) for row in range(rows)]


def clamp_row(b: KernelBuilder, row: int, num_rows: LLVMValue) -> LLVMValue:
    """A row of a tile, clamped to the last of the `num_rows` rows that exist, so that surplus rows read readable memory.

    Only for the address of an operand that is read.  A sum must not be stored at a clamped row, nor added to the sum there:
    the row would count twice.  `dispatch_row_count` says where the sums of surplus rows may be.
    """
    last = num_rows - 1
    return b.select(last < row, last, b.constant(row, I64))
