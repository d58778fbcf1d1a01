"""Loops over units of work and over the rows of strided operands, for rows that are counted by several dims.

A kernel's outer dims form one linear row number.  A unit of work is a range of rows, or a block of columns of a range of
rows.  Within a unit, the offset of each operand is advanced incrementally like an odometer: only the first row needs
divisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.data_movement.masked_lanes import LaneEmitter


@dataclass(frozen=True, slots=True)
class LoopDims:
    """An `IterationSpace` at run time: sizes[dim], innermost last, and strides[operand][dim]."""

    sizes: Sequence[LLVMValue]
    strides: Sequence[Sequence[LLVMValue]]


class StridedLoopEmitter(LaneEmitter):
    """Emits a kernel whose rows are counted by several dims, with a stride for each operand along each dim."""

    def load_dims(self, index: int, rank: int, operands: int) -> LoopDims:
        """Loads dims from the arguments starting at `index`, in the order of `IterationSpace.to_arguments`."""
        numbers = [self.size_argument(index + i) for i in range(rank * (operands + 1))]
        strides = [numbers[rank * (1 + o) : rank * (2 + o)] for o in range(operands)]
        return LoopDims(numbers[:rank], strides)

    def loop_rows(
        self,
        dims: LoopDims,
        first: LLVMValue,
        end: LLVMValue,
        body: Callable[[LLVMValue, list[LLVMValue]], None],
    ) -> None:
        """Runs body(row, offsets) for the rows in [first, end), with the offset of the row in each operand.

        The sizes must be positive if the range is not empty.
        """
        counters = [self.new_slot("place", I64) for _ in dims.sizes]
        offsets = [self.new_slot("offset", I64) for _ in dims.strides]
        self.if_then_call(first < end, lambda: self._start(dims, first, counters, offsets))

        def run_row(number: LLVMValue) -> None:
            body(number, [self.load(slot) for slot in offsets])
            self._advance(dims, len(dims.sizes) - 1, counters, offsets)

        self.loop_call(first, end, 1, run_row, "row")

    def loop_units(
        self,
        rows: LLVMValue,
        unit_rows: LLVMValue,
        columns: LLVMValue,
        unit_columns: int,
        body: Callable[[LLVMValue, LLVMValue, LLVMValue, LLVMValue], None],
    ) -> None:
        """Runs body(first row, end row, first column, number of columns) for each unit of the call.

        A unit is a tile of at most `unit_rows` rows and `unit_columns` columns; units are ordered by rows, then columns.
        """
        blocks, _ = self.udivmod(columns + (unit_columns - 1), self.constant(unit_columns, I64))

        def run_unit(number: LLVMValue) -> None:
            row, column = self.udivmod(number, blocks)
            first, start = row * unit_rows, column * unit_columns
            end = self.min(first + unit_rows, rows)
            body(first, end, start, self.min(columns - start, self.constant(unit_columns, I64)))

        self.loop_call(self.first_unit, self.end_unit, 1, run_unit, "unit")

    def _start(
        self, dims: LoopDims, first: LLVMValue, counters: list[StackSlot], offsets: list[StackSlot]
    ) -> None:
        """Splits a row number into one counter for each dim, and computes the offsets of the row."""
        sums = [self.constant(0, I64) for _ in offsets]
        remaining = first
        for d in reversed(range(len(counters))):
            counter = remaining
            if d:
                remaining, counter = self.udivmod(remaining, dims.sizes[d])
            self.store(counters[d], counter)
            sums = [total + counter * strides[d] for total, strides in zip(sums, dims.strides, strict=True)]
        for slot, value in zip(offsets, sums, strict=True):
            self.store(slot, value)

    def _advance(self, dims: LoopDims, d: int, counters: list[StackSlot], offsets: list[StackSlot]) -> None:
        """Increments dim d; on overflow resets it to 0 and carries into dim d - 1."""
        if d < 0:
            return
        for slot, strides in zip(offsets, dims.strides, strict=True):
            self.store(slot, self.load(slot) + strides[d])
        if d == 0:
            return
        self.store(counters[d], self.load(counters[d]) + 1)

        def carry() -> None:
            self.store(counters[d], self.constant(0, I64))
            for slot, strides in zip(offsets, dims.strides, strict=True):
                self.store(slot, self.load(slot) - strides[d] * dims.sizes[d])
            self._advance(dims, d - 1, counters, offsets)

        self.if_then_call(self.load(counters[d]).eq(dims.sizes[d]), carry)
