"""Copies of panels of float64 matrices to scratch: [k block, lanes of the target], whatever the strides of the matrix.

Contiguous rows are copied by vectors, contiguous columns transposed in squares of registers, others element by element.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.lanes import transpose
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, i64, load_typed

DOUBLE = LLVMType("double")


def copy_double_panel(
    b: KernelBuilder,
    source: str,
    strides: tuple[LLVMValue, LLVMValue],
    count: LLVMValue,
    columns: LLVMValue,
) -> None:
    """Copies `count` rows of a panel; columns from number `columns` on become zeros.  strides: of rows and of columns."""
    row_stride, column_stride = strides
    has_dense_rows = column_stride.eq(1)
    with b.if_then(has_dense_rows):
        copy_rows(b, source, row_stride, count, columns)
    with b.if_then(has_dense_rows.eq(0)):
        existing = b.min(columns, b.target.lanes)
        with b.if_then(existing < b.target.lanes):
            fill_zeros(b, count)
        copy_columns(b, source, strides, count, existing)


def copy_rows(
    b: KernelBuilder, source: str, row_stride: LLVMValue, count: LLVMValue, columns: LLVMValue
) -> None:
    """Copies contiguous rows by vectors."""
    vector, mask = LLVMType("double", b.target.lanes), first_lanes(b, columns, b.target.lanes)
    with b.loop(i64(b, 0), count, name="line") as line:
        values = load_typed(b, vector, b.gep(source, line * row_stride, "double"), mask)
        b.store(MemoryLocation(b.gep(b.scratch, line * b.target.lanes, "double"), vector), values)


def fill_zeros(b: KernelBuilder, count: LLVMValue) -> None:
    with b.loop(i64(b, 0), count * b.target.lanes, name="place") as index:
        b.store(MemoryLocation(b.gep(b.scratch, index, "double"), DOUBLE), b.constant(0.0, DOUBLE))


def copy_columns(
    b: KernelBuilder,
    source: str,
    strides: tuple[LLVMValue, LLVMValue],
    count: LLVMValue,
    existing: LLVMValue,
) -> None:
    """Copies columns: contiguous ones are transposed by squares; the remaining rows and columns are copied by elements."""
    row_stride, column_stride = strides
    zero, side = i64(b, 0), b.target.lanes // 2
    columns_done = zero
    if side > 1:
        is_contiguous = row_stride.eq(1)
        squares = b.select(is_contiguous, existing, zero)
        with b.loop(zero, squares, side, "column") as column:
            with b.loop(zero, count, side, "line") as line:
                copy_square(b, source, column_stride, line, column)
            copy_elements(b, source, strides, (line, count), (column, column + side))
        columns_done = column
    copy_elements(b, source, strides, (zero, count), (columns_done, existing))


def copy_square(
    b: KernelBuilder, source: str, column_stride: LLVMValue, line: LLVMValue, column: LLVMValue
) -> None:
    """Transposes a square; its side is half of the target's float32 lanes, the number of doubles in a register."""
    lanes, side = b.target.lanes, b.target.lanes // 2
    vector = LLVMType("double", side)
    addresses = [b.gep(source, (column + i) * column_stride + line, "double") for i in range(side)]
    rows = transpose(b, [b.load(MemoryLocation(address, vector)) for address in addresses])
    for i, row in enumerate(rows):
        b.store(MemoryLocation(b.gep(b.scratch, (line + i) * lanes + column, "double"), vector), row)


def copy_elements(
    b: KernelBuilder,
    source: str,
    strides: tuple[LLVMValue, LLVMValue],
    lines: tuple[LLVMValue, LLVMValue],
    columns: tuple[LLVMValue, LLVMValue],
) -> None:
    """Copies the elements of a range of rows and of columns."""
    (row_stride, column_stride), lanes = strides, b.target.lanes
    with b.loop(*columns, name="column") as column, b.loop(*lines, name="line") as line:
        offset = line * row_stride + column * column_stride
        value = b.load(MemoryLocation(b.gep(source, offset, "double"), DOUBLE))
        b.store(MemoryLocation(b.gep(b.scratch, line * lanes + column, "double"), DOUBLE), value)
