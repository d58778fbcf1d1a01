"""Stores a register tile: applies the epilogue to its sums, from registers or from a spill area, and stores the result.

for row of the tile: for vector of the row: sum -> epilogue with its operands -> store, masked past the last column
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.codegen.joined_calls import MAX_JOINED
from sardonyx._src.compile.kernels.epilogue import EpilogueOperand, operand_offset
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel, vector_slot
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import (
    IntegerEpilogue,
    is_row_operand,
    operand_type,
    result_type,
)
from sardonyx._src.compile.kernels.gemm.tile.output import OutputMatrix, TileStore
from sardonyx._src.compile.kernels.gemm.tile.quantized_rows import (
    QuantizedResult,
    is_ambiguous,
    match_quantized_result,
    pack_quantized,
    packed_rows,
    split_packed,
)
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TileRow:
    """A row of the output, the element of the output that it begins with, and the sums of a row of the tile."""

    row: LLVMValue
    start: LLVMValue
    sums: Sequence[LLVMValue]


def store_tile(m: Microkernel, tile_store: TileStore, *, masked: bool) -> None:
    """Applies the epilogue to a full tile and stores it; masked if it reaches beyond the last column."""
    columns = [tile_store.column + v * m.tile.lanes for v in range(m.tile.vectors)]
    masks = [column_mask(m, column, tile_store.end_column) if masked else None for column in columns]
    quantized = None if masked else quantized_row(m)
    rows = [tile_row(m, tile_store, r) for r in range(len(m.accumulators))]
    if quantized is not None:
        count = joined_rows(m)
        for first in range(0, len(rows), count):
            store_quantized_rows(m, quantized, rows[first : first + count], columns, tile_store.output)
        return
    for row in rows:
        for value, column, mask in zip(row.sums, columns, masks, strict=True):
            store_vector(m, value, row.row, column, tile_store.output, mask)


def tile_row(m: Microkernel, tile_store: TileStore, r: int) -> TileRow:
    """Row r of a tile in registers."""
    output, sums = tile_store.output, [m.b.load(slot) for slot in m.accumulators[r]]
    if output.map_row is not None:
        row = output.map_row(tile_store.row + r)
        return TileRow(row, row * output.row_stride, sums)
    # Multiples of the stride are computed once for all tiles.
    return TileRow(tile_store.row + r, tile_store.row * output.row_stride + output.row_stride * r, sums)


def store_spilled_tile(m: Microkernel, rows_left: LLVMValue, spill: str, tile_store: TileStore) -> None:
    """Applies the epilogue to spilled sums and stores them, by a loop over rows, which is less code than `store_tile`."""
    b, tile = m.b, m.tile
    zero = b.constant(0, I64)
    count = b.select(rows_left < tile.rows, rows_left, b.constant(tile.rows, I64))
    is_full = is_full_width(m, tile_store)
    num_full = b.select(is_full, count, zero)
    num_joined = joined_rows(m)
    with b.loop(zero, num_full + (num_joined - 1), num_joined, "r") as r:
        # A surplus row is the last one again, which is stored twice.
        store_spilled_rows(m, [b.min(r + i, count - 1) for i in range(num_joined)], spill, tile_store)
    with (
        b.loop(num_full, count, 1, "r") as r,
        b.loop(zero, b.constant(tile.width, I64), tile.lanes, "v") as v,
    ):
        store_spilled_vector(m, r, v, spill, tile_store)


def joined_rows(m: Microkernel) -> int:
    """The rows whose epilogues are interleaved: several if a row has few vectors, and calls are joined or bytes packed."""
    if quantized_row(m) is not None:
        return packed_rows(m.tile.vectors, m.b.target)
    if not m.epilogue.joins_calls:
        return 1
    return -(-MAX_JOINED // m.tile.vectors)


def store_spilled_rows(m: Microkernel, rows: list[LLVMValue], spill: str, tile_store: TileStore) -> None:
    """Stores full rows of a spilled tile; the epilogues of their vectors are interleaved to hide latencies."""
    b, tile, output = m.b, m.tile, tile_store.output
    columns = [tile_store.column + v * tile.lanes for v in range(tile.vectors)]
    quantized, spilled = quantized_row(m), []
    for r in rows:
        sums = [b.load(vector_slot(m, spill, r * tile.width + v * tile.lanes)) for v in range(tile.vectors)]
        row = map_row(output, tile_store.row + r)
        spilled.append(TileRow(row, row * output.row_stride, sums))
    if quantized is not None:
        store_quantized_rows(m, quantized, spilled, columns, output)
        return
    slots = [result_slot(m, output, row.row, column) for row in spilled for column in columns]
    loads = row_loads(m, spilled, columns, output)
    results = b.emit_interleaved([m.epilogue.expression], [result_vector_type(m)], loads)
    for slot, (result,) in zip(slots, results, strict=True):
        b.store(slot, result)


def quantized_row(m: Microkernel) -> QuantizedResult | None:
    """The quantized result, if full rows are stored as packed bytes; None otherwise."""
    return match_quantized_result(m.epilogue, m.b.target) if packed_rows(m.tile.vectors, m.b.target) else None


def store_quantized_rows(
    m: Microkernel,
    quantized: QuantizedResult,
    rows: Sequence[TileRow],
    columns: Sequence[LLVMValue],
    output: OutputMatrix,
) -> None:
    """Stores full rows of the output as packed bytes."""
    b, zero_point = m.b, None
    if quantized.zero_point is not None:
        operand, element_type = (
            output.operands[quantized.zero_point],
            operand_type(m.epilogue, quantized.zero_point),
        )
        zero_point = b.load(MemoryLocation(operand.address, element_type))

    def exact() -> LLVMValue:
        quotients = row_quotients(m, quantized, row_loads(m, rows, columns, output))
        return pack_quantized(b, quantized, quotients, zero_point)

    if (approximation := quantized.approximation) is None:
        packed = exact()
    else:
        quotients = row_quotients(m, approximation, row_loads(m, rows, columns, output))
        common = pack_quantized(b, approximation, quotients, zero_point)
        packed = b.branch_if_any(is_ambiguous(b, quotients), exact, common)
    for row, part in zip(rows, split_packed(b, packed, len(rows)), strict=True):
        address = b.gep(output.address, row.start + columns[0], part.type.llvm_element)
        b.store(MemoryLocation(address, part.type), part)


def row_quotients(
    m: Microkernel, quantized: QuantizedResult, loads: list[Callable[[Local], LLVMValue]]
) -> list[LLVMValue]:
    """The quotients of full rows, before they are rounded."""
    vector = LLVMType(quantized.element, m.tile.lanes)
    return [quotient for (quotient,) in m.b.emit_interleaved([quantized.quotient], [vector], loads)]


def row_loads(
    m: Microkernel, rows: Sequence[TileRow], columns: Sequence[LLVMValue], output: OutputMatrix
) -> list[Callable[[Local], LLVMValue]]:
    """For each vector of full rows, the function that loads the names of the epilogue."""
    return [
        partial(load_epilogue_local, m, value, row.row, column, output, None)
        for row in rows
        for value, column in zip(row.sums, columns, strict=True)
    ]


def store_spilled_vector(
    m: Microkernel, r: LLVMValue, v: LLVMValue, spill: str, tile_store: TileStore
) -> None:
    """Stores the vector at (r, v) of a spilled tile, masked past the last column."""
    b, lanes, end = m.b, m.tile.lanes, tile_store.end_column
    column, row = tile_store.column + v, map_row(tile_store.output, tile_store.row + r)
    value = b.load(vector_slot(m, spill, r * m.tile.width + v))
    is_full = column + lanes <= end
    with b.if_then(is_full):
        store_vector(m, value, row, column, tile_store.output, None)
    is_partial = is_full.eq(0) & (column < end)
    mask = column_mask(m, column, end)
    with b.if_then(is_partial):
        store_vector(m, value, row, column, tile_store.output, mask)


def store_vector(
    m: Microkernel,
    value: LLVMValue,
    row: LLVMValue,
    column: LLVMValue,
    output: OutputMatrix,
    mask: LLVMValue | None,
) -> None:
    """Applies the epilogue to a vector of sums and stores the lanes in the mask; row: of the output."""
    b = m.b
    load_local = partial(load_epilogue_local, m, value, row, column, output, mask)
    result = b.emit_expression(m.epilogue.expression, result_vector_type(m), load_local)
    slot = result_slot(m, output, row, column)
    if mask is None or m.tile.lanes == 1:  # masks of one lane are true here
        b.store(slot, result)
    else:
        b.masked_store(mask, slot, result)


# --- the output ----------------------------------------------------------------------------------


def map_row(output: OutputMatrix, row: LLVMValue) -> LLVMValue:
    """The row of the output for a row of the sums."""
    return row if output.map_row is None else output.map_row(row)


def result_vector_type(m: Microkernel) -> LLVMType:
    """The type of a vector of the output."""
    return LLVMType(result_type(m.epilogue).element, m.tile.lanes)


def result_slot(m: Microkernel, output: OutputMatrix, row: LLVMValue, column: LLVMValue) -> MemoryLocation:
    """The memory of a vector of the output."""
    vector_type = result_vector_type(m)
    address = m.b.gep(output.address, row * output.row_stride + column, vector_type.llvm_element)
    return MemoryLocation(address, vector_type)


def is_full_width(m: Microkernel, tile_store: TileStore) -> LLVMValue:
    """Whether all columns of the tile are columns of the output."""
    return tile_store.column + m.tile.width <= tile_store.end_column


def column_mask(m: Microkernel, column: LLVMValue, end: LLVMValue) -> LLVMValue:
    """The mask of the lanes of a vector at `column` that lie before `end`."""
    return column < end if m.tile.lanes == 1 else m.b.lane_mask(end - column, m.tile.lanes)


# --- operands of the epilogue --------------------------------------------------------------------


def load_epilogue_local(
    m: Microkernel,
    value: LLVMValue,
    row: LLVMValue,
    column: LLVMValue,
    output: OutputMatrix,
    mask: LLVMValue | None,
    local: Local,
) -> LLVMValue:
    """The value of a name in the epilogue for the vector of sums at (row, column)."""
    assert isinstance(local, Local), f"a name in an epilogue must be Local; got {local}"
    if local.name == "x":
        return value
    return load_operand(m, int(local.name[1:]), row, column, output, mask)


def load_operand(
    m: Microkernel,
    index: int,
    row: LLVMValue,
    column: LLVMValue,
    output: OutputMatrix,
    mask: LLVMValue | None,
) -> LLVMValue:
    """The vector of an operand of the epilogue, of its own type, for the vector of the output at (row, column)."""
    b, operand, element_type = m.b, output.operands[index], operand_type(m.epilogue, index)
    if operand.layout == "scalar" or is_row_operand(m.epilogue, index):
        slot = MemoryLocation(scalar_address(m, operand, element_type, row), element_type)
        return b.splat(b.load(slot), m.tile.lanes)
    offset = operand_offset(operand, row, column)
    address = b.gep(operand.address, offset, element_type.llvm_element)
    slot = MemoryLocation(address, LLVMType(element_type.element, m.tile.lanes))
    return b.load(slot) if mask is None or m.tile.lanes == 1 else b.masked_load(mask, slot)


def scalar_address(m: Microkernel, operand: EpilogueOperand, element_type: LLVMType, row: LLVMValue) -> str:
    """The address of a scalar, or of the only element of a row."""
    if not isinstance(m.epilogue, IntegerEpilogue):
        return operand.address
    offset = m.b.constant(0, I64) if operand.row_stride is None else row * operand.row_stride
    return m.b.gep(operand.address, offset, element_type.llvm_element)
