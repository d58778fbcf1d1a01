"""Kernels of ArgMax and ArgMin: every lane keeps its best element so far and the index of it.

Emits the kernels whose steps `arg_reduce` builds.  By rows: units (blocks of rows) -> rows -> vectors of the row, then the
lanes are reduced to one.  By columns: units (a row of BLOCK_COLUMNS columns) -> vectors of columns -> entries of the axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.reductions.reducers import INTEGER_ELEMENTS, MIN_INTEGERS
from sardonyx._src.compile.kernels.reductions.row_emitter import BLOCK_COLUMNS, RowEmitter


@dataclass(frozen=True, slots=True)
class ArgVariant:
    """Specialization key of an arg reduction, beside the rank of its rows."""

    element: Element
    is_max: bool
    select_last: bool

    @property
    def key(self) -> str:
        return f"{self.element}_{'max' if self.is_max else 'min'}_{'last' if self.select_last else 'first'}"

    @property
    def identity(self) -> float:
        """The initial value of an accumulator: no element is worse."""
        if self.element in INTEGER_ELEMENTS:
            lowest = MIN_INTEGERS[self.element]
            return lowest if self.is_max else -lowest - 1
        return -math.inf if self.is_max else math.inf


class ArgReduceEmitter(RowEmitter):
    """Emits the operations that both arg reductions, by rows and by columns, have in common."""

    def __init__(self, target: Target, variant: ArgVariant) -> None:
        super().__init__(target, variant.element)
        self.variant = variant
        self.index_type = LLVMType("i64", self.lanes)
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)

    def new_best(self) -> tuple[StackSlot, StackSlot]:
        """Accumulators of the best element of each lane, and of its index."""
        best, index = self.new_slot("best", self.vector_type), self.new_slot("place", self.index_type)
        self.store(best, self.constant(self.variant.identity, self.vector_type))
        self.store(index, self.constant(0, self.index_type))
        return best, index

    def update_best(
        self,
        best: StackSlot,
        best_index: StackSlot,
        value: LLVMValue,
        index: LLVMValue,
        mask: LLVMValue | None,
    ) -> None:
        """Replaces the lanes in which the value is better."""
        before = self.load(best)
        replaces = self.is_better(value, before)
        if self.variant.select_last:
            replaces = replaces | self.is_equal(value, before)
        if mask is not None:
            replaces = replaces & mask
        self.store(best, self.select(replaces, value, before))
        self.store(best_index, self.select(replaces, index, self.load(best_index)))

    def is_better(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """Whether a ranks before b; NaN ranks before all numbers."""
        is_beyond = a > b if self.variant.is_max else a < b
        return is_beyond | (a.ne(a) & b.eq(b)) if a.type.is_float else is_beyond

    def is_equal(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """Whether a and b rank equally; NaNs do."""
        equal = a.eq(b)
        return equal | (a.ne(a) & b.ne(b)) if a.type.is_float else equal

    def reduce_best(self, best: LLVMValue, index: LLVMValue) -> LLVMValue:
        """The index of the best lane, by halving; equal lanes are ordered by index."""
        while best.type.lanes > 1:
            half = best.type.lanes // 2
            low, high = range(half), range(half, 2 * half)
            a, b = self.shuffle(best, best, low), self.shuffle(best, best, high)
            i, j = self.shuffle(index, index, low), self.shuffle(index, index, high)
            precedes = j > i if self.variant.select_last else j < i
            replaces = self.is_better(b, a) | (self.is_equal(a, b) & precedes)
            best, index = self.select(replaces, b, a), self.select(replaces, j, i)
        return index


class RowArgReduceEmitter(ArgReduceEmitter):
    """Emits an arg reduction along rows, in vectors if they are contiguous, else element by element.

    args: x, y, rows, rows per unit, n, stride along the row, dims of the rows (strides of x, of y).
    """

    def __init__(self, target: Target, variant: ArgVariant, rank: int, *, is_contiguous: bool) -> None:
        super().__init__(target if is_contiguous else replace(target, lanes=1), variant)
        rows, unit_rows, self.n, self.step = (self.size_argument(i) for i in range(2, 6))
        self.is_contiguous = is_contiguous
        self.loop_unit_rows(rows, unit_rows, self.load_dims(6, rank, 2), self.reduce_row)

    def reduce_row(self, _: LLVMValue, offsets: list[LLVMValue]) -> None:
        source, target = self.element_pointer(self.x, offsets[0]), self.gep(self.y, offsets[1], "i64")
        best, best_index = self.new_best()

        def update(i: LLVMValue, _: int, mask: LLVMValue | None) -> None:
            value = self.load_vector(source, i if self.is_contiguous else i * self.step, mask)
            self.update_best(best, best_index, value, self.lane_indices(i), mask)

        self.loop_vectors(self.n, update, 1)
        self.store(StackSlot(target, I64), self.reduce_best(self.load(best), self.load(best_index)))

    def lane_indices(self, first: LLVMValue) -> LLVMValue:
        """The indices of the elements of a vector: first, first + 1, ..."""
        if self.lanes == 1:
            return first
        numbers = ", ".join(f"i64 {i}" for i in range(self.lanes))
        return self.broadcast(first) + LLVMValue(self, self.index_type, f"<{numbers}>")


class ColumnArgReduceEmitter(ArgReduceEmitter):
    """Emits an arg reduction along columns; adjacent columns are contiguous in x and y.

    args: x, y, rows, rows per unit, columns, n, stride along a column, dims of the rows (strides of x, of y).
    """

    def __init__(self, target: Target, variant: ArgVariant, rank: int) -> None:
        super().__init__(target, variant)
        rows, unit_rows, columns, self.n, self.step = (self.size_argument(i) for i in range(2, 7))
        dims = self.load_dims(7, rank, 2)

        def reduce_unit(first: LLVMValue, end: LLVMValue, column: LLVMValue, count: LLVMValue) -> None:
            def reduce_row(_: LLVMValue, offsets: list[LLVMValue]) -> None:
                source = self.element_pointer(self.x, offsets[0] + column)
                target = self.gep(self.y, offsets[1] + column, "i64")
                self.loop_vectors(count, lambda i, _, mask: self.reduce_columns(source, target, i, mask), 1)

            self.loop_rows(dims, first, end, reduce_row)

        self.loop_units(rows, unit_rows, columns, BLOCK_COLUMNS, reduce_unit)

    def reduce_columns(self, source: str, target: str, i: LLVMValue, mask: LLVMValue | None) -> None:
        """Reduces a vector of columns."""
        best, best_index = self.new_best()

        def update(k: LLVMValue) -> None:
            value = self.load_vector(source, i + k * self.step, mask)
            self.update_best(best, best_index, value, self.broadcast(k), None)

        self.loop_call(self.zero, self.n, 1, update, "k")
        address, indices = self.gep(target, i, "i64"), self.load(best_index)
        if mask is None:
            self.store(StackSlot(address, self.index_type), indices)
        else:
            self.masked_store_at(indices, address, mask)
