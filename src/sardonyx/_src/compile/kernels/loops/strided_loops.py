"""Loops over units of work and over the rows of strided operands, where several outer dims count the rows.

The outer dims together form one linear row number.  A unit of work is a range of rows, or a block of columns of a range of
rows.  Within a unit, the offset of each operand is advanced incrementally like an odometer, so that only the first row of a
unit needs divisions.

    dims = load_dims(b, "dims", rank, 2)
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (row, (x_offset, y_offset)):
        ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LoopDims:
    """An `IterationSpace` at run time: sizes[dim], innermost last, and strides[operand][dim]."""

    sizes: Sequence[LLVMValue]
    strides: Sequence[Sequence[LLVMValue]]

    @property
    def num_slots(self) -> int:
        """The number of argument slots that hold these dims."""
        return len(self.sizes) * (1 + len(self.strides))


def load_dims(
    b: KernelBuilder, name: str, rank: int, operands: int, after: LoopDims | None = None
) -> LoopDims:
    """Loads dims from the parameter `name` (declared with a star), in the order of `IterationSpace.to_arguments`.

    after: the dims that precede these in the same parameter.
    """
    first, count = after.num_slots if after else 0, rank * (operands + 1)
    numbers = b.integers(*(f"{name}[{first + i}]" for i in range(count)))
    strides = [numbers[rank * (1 + o) : rank * (2 + o)] for o in range(operands)]
    return LoopDims(numbers[:rank], strides)


def unit_row_range(b: KernelBuilder, rows: LLVMValue, unit_rows: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """The rows [first, end) of the units of this call; a unit has `unit_rows` rows."""
    return b.min(b.first_unit * unit_rows, rows), b.min(b.end_unit * unit_rows, rows)


@contextmanager
def loop_rows(
    b: KernelBuilder, dims: LoopDims, first: LLVMValue, end: LLVMValue
) -> Iterator[tuple[LLVMValue, list[LLVMValue]]]:
    """The body of a loop over the rows in [first, end): yields the row and its offset in each operand.

    The sizes must be positive if the range is not empty.
    """
    counters = [b.new_slot("place", I64) for _ in dims.sizes]
    offsets = [b.new_slot("offset", I64) for _ in dims.strides]
    with b.if_then(first < end):
        start_offsets(b, dims, first, counters, offsets)
    with b.loop(first, end, name="row") as row:
        yield row, [b.load(slot) for slot in offsets]
        advance_offsets(b, dims, len(dims.sizes) - 1, counters, offsets)


@contextmanager
def loop_units(
    b: KernelBuilder, rows: LLVMValue, unit_rows: LLVMValue, columns: LLVMValue, unit_columns: int
) -> Iterator[tuple[LLVMValue, LLVMValue, LLVMValue, LLVMValue]]:
    """The body of a loop over the units of the call: yields first row, end row, first column, number of columns.

    A unit is a tile of at most `unit_rows` rows and `unit_columns` columns; units are ordered by rows, then columns.
    """
    blocks, _ = b.udivmod(columns + (unit_columns - 1), b.constant(unit_columns, I64))
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        row, column = b.udivmod(unit, blocks)
        first, start = row * unit_rows, column * unit_columns
        end = b.min(first + unit_rows, rows)
        yield first, end, start, b.min(columns - start, b.constant(unit_columns, I64))


def start_offsets(
    b: KernelBuilder,
    dims: LoopDims,
    first: LLVMValue,
    counters: list[MemoryLocation],
    offsets: list[MemoryLocation],
) -> None:
    """Splits a row number into one counter for each dim, and computes the offsets of the row."""
    sums = [b.constant(0, I64) for _ in offsets]
    remaining = first
    for d in reversed(range(len(counters))):
        counter = remaining
        if d:
            remaining, counter = b.udivmod(remaining, dims.sizes[d])
        b.store(counters[d], counter)
        sums = [total + counter * strides[d] for total, strides in zip(sums, dims.strides, strict=True)]
    for slot, value in zip(offsets, sums, strict=True):
        b.store(slot, value)


def advance_offsets(
    b: KernelBuilder, dims: LoopDims, d: int, counters: list[MemoryLocation], offsets: list[MemoryLocation]
) -> None:
    """Increments dim d; on overflow resets it to 0 and carries into dim d - 1."""
    if d < 0:
        return
    for slot, strides in zip(offsets, dims.strides, strict=True):
        b.store(slot, b.load(slot) + strides[d])
    if d == 0:
        return
    b.store(counters[d], b.load(counters[d]) + 1)
    with b.if_then(b.load(counters[d]).eq(dims.sizes[d])):
        b.store(counters[d], b.constant(0, I64))
        for slot, strides in zip(offsets, dims.strides, strict=True):
            b.store(slot, b.load(slot) - strides[d] * dims.sizes[d])
        advance_offsets(b, dims, d - 1, counters, offsets)
