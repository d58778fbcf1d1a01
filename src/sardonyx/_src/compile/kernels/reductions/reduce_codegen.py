"""Kernels of reductions by rows and by columns; `reduce` builds their steps.

By rows: units of work (blocks of results) -> results -> rows of the reduced dims -> vectors of a row, into independent
accumulators that are combined at the end.  By columns: units (a row of BLOCK_COLUMNS columns) -> blocks of vectors of
adjacent results -> all reduced elements.  The order of the operations depends on the sizes alone.

ReduceLogSumExp takes two passes, the first one for the maximum: log(sum(exp(x - max))) + max.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMValue
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.reductions.reducers import ReduceOp, Reducer
from sardonyx._src.compile.kernels.reductions.row_emitter import BLOCK_COLUMNS, NEG_INFINITY, RowEmitter


@dataclass(frozen=True, slots=True)
class ReduceVariant:
    """Specialization of a reduction: the operator, the element type and the epilogue on the results."""

    op: ReduceOp
    element: Element
    reducer: Reducer
    epilogue: Epilogue

    def __post_init__(self) -> None:
        assert not self.epilogue.operand_layouts, "the epilogue of a reduction must not have operands"

    @property
    def key(self) -> str:
        return f"{self.op}_{self.element}_{self.epilogue.key}"


class ReduceEmitter(RowEmitter):
    """Emits the operations that reductions by rows and by columns have in common."""

    def __init__(self, target: Target, variant: ReduceVariant) -> None:
        super().__init__(target, variant.element)
        self.variant, self.reducer = variant, variant.reducer
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)

    @property
    def max_reducer(self) -> Reducer:
        """The maximum of all elements that are not NaN, for the shift of LogSumExp; NaN reappears in the sum."""
        return Reducer(NEG_INFINITY, lambda emitter, a, b: self.max_or_second(b, a))

    def finite_shift(self, maximum: LLVMValue) -> LLVMValue:
        """The shift of the exponents of LogSumExp: the maximum, or 0 if that is not finite."""
        is_finite = self.fabs(maximum) < math.inf
        return self.select(is_finite, maximum, self.constant(0, maximum.type))

    def update(
        self, accumulator: StackSlot, reducer: Reducer, value: LLVMValue, mask: LLVMValue | None
    ) -> None:
        """Combines a vector of elements, those in the mask, with an accumulator."""
        value = reducer.transform(self, value)
        if mask is not None:
            value = self.select(mask, value, self.constant(reducer.identity, self.vector_type))
        self.store(accumulator, reducer.combine(self, self.load(accumulator), value))

    def finish(self, value: LLVMValue, shift: LLVMValue | None, count: LLVMValue) -> LLVMValue:
        """The final result of an accumulator over `count` elements, a scalar or a vector, with the epilogue applied."""
        number = count.convert("sitofp", self.element) if self.scalar_type.is_float else count
        if self.scalar_type.element == "i32":
            number = self.constant(1, self.scalar_type)  # unused: means of integers have no kernel
        value = self.reducer.finish(self, value, self.splat(number, value.type.lanes))
        result = value if shift is None else value + shift

        def load_local(local: Local) -> LLVMValue:
            assert local == RESULT, f"{local} is not the result"
            return result

        if self.variant.epilogue.expression == RESULT:
            return result
        return self.emit_expression(self.variant.epilogue.expression, result.type, load_local)


class RowReduceEmitter(ReduceEmitter):
    """Emits a reduction by rows, in vectors if rows are contiguous, else element by element.

    args: x, y, results, results per unit, elements per result, n, stride along the row, rows per result, dims of the
    results (strides of x, of y), dims of the rows of a result (strides of x).
    """

    def __init__(
        self, target: Target, variant: ReduceVariant, ranks: tuple[int, int], *, is_contiguous: bool
    ) -> None:
        super().__init__(target if is_contiguous else replace(target, lanes=1), variant)
        results, unit_results, self.count, self.n, self.step, self.rows = (
            self.size_argument(i) for i in range(2, 8)
        )
        dims = self.load_dims(8, ranks[0], 2)
        self.row_dims = self.load_dims(8 + 3 * ranks[0], ranks[1], 1)
        self.is_contiguous = is_contiguous
        self.loop_unit_rows(results, unit_results, dims, self.compute_result)

    def compute_result(self, _: LLVMValue, offsets: list[LLVMValue]) -> None:
        source, target = self.element_pointer(self.x, offsets[0]), self.element_pointer(self.y, offsets[1])
        shift = None
        if self.variant.op == "log_sum_exp":
            shift = self.finite_shift(self.reduce_rows(source, self.max_reducer, None))
        value = self.reduce_rows(source, self.reducer, shift)
        self.store(StackSlot(target, self.scalar_type), self.finish(value, shift, self.count))

    def reduce_rows(self, source: str, reducer: Reducer, shift: LLVMValue | None) -> LLVMValue:
        """Reduces all rows of a result, after `shift` is subtracted from each element: a scalar."""
        accumulators = self.new_accumulators(reducer.identity)
        shift_vector = None if shift is None else self.broadcast(shift)

        def reduce_row(_: LLVMValue, offsets: list[LLVMValue]) -> None:
            base = self.element_pointer(source, offsets[0])

            def accumulate(i: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
                for v, accumulator in enumerate(accumulators[:vectors]):
                    index = i + v * self.lanes
                    value = self.load_vector(base, index if self.is_contiguous else index * self.step, mask)
                    value = value if shift_vector is None else value - shift_vector
                    self.update(accumulator, reducer, value, mask)

            self.loop_vectors(self.n, accumulate)

        self.loop_rows(self.row_dims, self.zero, self.rows, reduce_row)
        return self.reduce_accumulators(lambda a, b: reducer.combine(self, a, b), accumulators)


class ColumnReduceEmitter(ReduceEmitter):
    """Emits a reduction by columns; adjacent results are contiguous in y, and their elements in x.

    args: x, y, rows, rows per unit, columns, elements per result, dims of the rows (strides of x, of y), dims of the
    elements of a result (strides of x).
    """

    def __init__(self, target: Target, variant: ReduceVariant, ranks: tuple[int, int]) -> None:
        super().__init__(target, variant)
        rows, unit_rows, columns, self.count = (self.size_argument(i) for i in range(2, 6))
        dims = self.load_dims(6, ranks[0], 2)
        self.element_dims = self.load_dims(6 + 3 * ranks[0], ranks[1], 1)
        unroll = (
            target.registers // 2
        )  # long contiguous accesses make good use of cache lines and prefetching

        def reduce_unit(first: LLVMValue, end: LLVMValue, column: LLVMValue, count: LLVMValue) -> None:
            def reduce_row(_: LLVMValue, offsets: list[LLVMValue]) -> None:
                x, y = (
                    self.element_pointer(base, offset + column)
                    for base, offset in zip((self.x, self.y), offsets, strict=True)
                )
                self.loop_vectors(
                    count, lambda i, vectors, mask: self.compute_results(x, y, i, vectors, mask), unroll
                )

            self.loop_rows(dims, first, end, reduce_row)

        self.loop_units(rows, unit_rows, columns, BLOCK_COLUMNS, reduce_unit)

    def compute_results(self, x: str, y: str, i: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
        """Computes `vectors` vectors of results from column i on."""
        shifts: list[LLVMValue] = []
        if self.variant.op == "log_sum_exp":
            maxima = self.reduce_elements(x, self.max_reducer, [], i, vectors, mask)
            shifts = [self.finite_shift(maximum) for maximum in maxima]
        values = self.reduce_elements(x, self.reducer, shifts, i, vectors, mask)
        for v, value in enumerate(values):
            result = self.finish(value, shifts[v] if shifts else None, self.count)
            self.store_vector(result, y, i + v * self.lanes, mask)

    def reduce_elements(
        self,
        x: str,
        reducer: Reducer,
        shifts: list[LLVMValue],
        i: LLVMValue,
        vectors: int,
        mask: LLVMValue | None,
    ) -> list[LLVMValue]:
        """Reduces vectors of columns, after a vector of shifts, if there are any, is subtracted from each."""
        accumulators = self.new_accumulators(reducer.identity, vectors)

        def accumulate(_: LLVMValue, offsets: list[LLVMValue]) -> None:
            for v, accumulator in enumerate(accumulators):
                value = self.load_vector(x, offsets[0] + i + v * self.lanes, mask)
                self.update(accumulator, reducer, value - shifts[v] if shifts else value, None)

        self.loop_rows(self.element_dims, self.zero, self.count, accumulate)
        return [self.load(accumulator) for accumulator in accumulators]
