"""Kernels of reductions by rows and by columns; `reduce` builds their steps.

By rows: results of the units -> rows of the reduced dims -> vectors of a row, into independent accumulators that are
combined at the end.  By columns: units (a row of `block_columns` columns) -> blocks of vectors of adjacent results -> all
reduced elements.  The order of the operations depends on the sizes alone.

ReduceLogSumExp takes two passes, the first one for the maximum: log(sum(exp(x - max))) + max.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sardonyx._src.compile.codegen import (
    I64,
    Element,
    LLVMType,
    LLVMValue,
    MemoryLocation,
    Parameters,
    Target,
)
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.loops.memory import load_lanes, load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import (
    full_vector_type,
    lane_indices,
    lane_numbers,
    loop_unrolled_vectors,
    loop_vector_blocks,
    summed_vector_type,
)
from sardonyx._src.compile.kernels.loops.strided_loops import (
    LoopDims,
    load_dims,
    loop_rows,
    loop_units,
    unit_row_range,
)
from sardonyx._src.compile.kernels.reductions.reducers import (
    MAX_OF_NUMBERS,
    SUM,
    Reducer,
    State,
    accumulate,
    load_state,
    merge_accumulators,
    new_accumulators,
    reduce_lanes,
    store_state,
)
from sardonyx._src.compile.kernels.tuning import ReductionTuning, tuning_for
from sardonyx._src.dataclass import dataclass

# count: elements of a result.  n, step, rows: elements of a row, their stride, and rows of a result.  dims: of the results
# (strides of x, of y), then of the rows of a result (strides of x).
REDUCE_ROWS_PARAMETERS = Parameters(
    "x", "y", "results", "unit_results", "count", "n", "step", "rows", "dims*"
)
# column_step: the stride of x between columns.  count: elements of a result.  dims: of the rows (strides of x, of y), then
# of the elements of a result (strides of x).
REDUCE_COLUMNS_PARAMETERS = Parameters(
    "x", "y", "rows", "unit_rows", "columns", "column_step", "count", "dims*"
)
GATHERED_VECTORS = 4  # of a block of columns that are gathered: their cache lines stay in L1


@dataclass(frozen=True, slots=True)
class ReduceVariant:
    """Specialization of a reduction: the operator, the element type and the epilogue on the results."""

    op: str
    element: Element
    reducer: Reducer
    epilogue: Epilogue

    def __post_init__(self) -> None:
        assert not self.epilogue.operand_layouts, "the epilogue of a reduction must not have operands"

    @property
    def key(self) -> str:
        return f"{self.op}_{self.element}_{self.epilogue.key}"

    @property
    def result_type(self) -> LLVMType:
        return LLVMType("i64" if self.reducer.has_index else self.element)

    def row_vector_type(self, target: Target) -> LLVMType:
        """The vector of elements of a row; results of integers, and indices, do not depend on the order."""
        is_summed = LLVMType(self.element).is_float and not self.reducer.has_index
        return (summed_vector_type if is_summed else full_vector_type)(target, self.element)

    @property
    def operations(self) -> int:
        """For each element, about."""
        return 4 if self.reducer.has_index else 1

    @property
    def gathered_elements(self) -> int:
        """The elements of a result up to which lanes hold results, whose elements are gathered."""
        tuning = ReductionTuning
        return tuning.gathered_row_elements if self.reducer.has_index else tuning.gathered_result_elements


# --- by rows ---------------------------------------------------------------------------------


def reduce_rows_module(
    name: str, target: Target, variant: ReduceVariant, ranks: tuple[int, int], *, is_contiguous: bool
) -> str:
    """The kernel of a reduction by rows, in vectors if rows are contiguous, else element by element."""
    b, element = KernelBuilder(target, REDUCE_ROWS_PARAMETERS), variant.element
    vector_type = variant.row_vector_type(target) if is_contiguous else LLVMType(element)
    x, y = b.pointers("x", "y")
    results, unit_results, count = b.integers("results", "unit_results", "count")
    n, step, rows = b.integers("n", "step", "rows")
    dims = load_dims(b, "dims", ranks[0], 2)
    row_dims = load_dims(b, "dims", ranks[1], 1, after=dims)
    with loop_rows(b, dims, *unit_row_range(b, results, unit_results)) as (_, (x_offset, y_offset)):
        x_result, y_result = b.gep(x, x_offset, element), b.gep(y, y_offset, variant.result_type.element)
        elements = ReducedRows(b, vector_type, x_result, row_dims, rows, n, None if is_contiguous else step)
        shift = None
        if variant.op == "log_sum_exp":
            shift = finite_shift(b, *reduce_rows(elements, MAX_OF_NUMBERS, None))
        state = reduce_rows(elements, variant.reducer, shift)
        b.store(MemoryLocation(y_result, variant.result_type), finish(b, variant, state, shift, count))
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class ReducedRows:
    """The elements of one result in a reduction by rows: `rows` rows of n elements.

    step: the stride along a row; None if rows are contiguous.
    """

    b: KernelBuilder
    vector_type: LLVMType
    x: str
    dims: LoopDims
    rows: LLVMValue
    n: LLVMValue
    step: LLVMValue | None


def reduce_rows(elements: ReducedRows, reducer: Reducer, shift: LLVMValue | None) -> State:
    """Reduces the elements of a result, after `shift` is subtracted from each: a scalar state."""
    b, vector_type, step = elements.b, elements.vector_type, elements.step
    min_unrolled = (
        tuning_for(b.target).reductions.min_indexed_vectors * vector_type.lanes if reducer.has_index else 0
    )
    accumulators = new_accumulators(b, vector_type, reducer)
    shift_vector = None if shift is None else b.splat(shift, vector_type.lanes)
    with loop_rows(b, elements.dims, b.constant(0, I64), elements.rows) as (_, (offset,)):
        row = b.gep(elements.x, offset, vector_type.element)
        for v, index, mask in loop_unrolled_vectors(b, elements.n, vector_type.lanes, min_unrolled):
            value = load_vector_at(b, row, index if step is None else index * step, vector_type, mask)
            value = value if shift_vector is None else value - shift_vector
            position = (lane_indices(b, index, vector_type.lanes),) if reducer.has_index else ()
            accumulate(b, accumulators[v], reducer, (value, *position), mask)
    if min_unrolled:
        with b.if_then(elements.n >= min_unrolled):
            store_state(b, accumulators[0], merge_accumulators(b, reducer, accumulators))
        return reduce_lanes(b, reducer, load_state(b, accumulators[0]))
    return reduce_lanes(b, reducer, merge_accumulators(b, reducer, accumulators))


# --- by columns ------------------------------------------------------------------------------


def reduce_columns_module(
    name: str, target: Target, variant: ReduceVariant, ranks: tuple[int, int], *, is_contiguous: bool
) -> str:
    """The kernel of a reduction by columns; adjacent results are contiguous in y, and their elements in x or gathered."""
    b, element = KernelBuilder(target, REDUCE_COLUMNS_PARAMETERS), variant.element
    vector_type = full_vector_type(target, element)
    x, y = b.pointers("x", "y")
    rows, unit_rows, columns, count = b.integers("rows", "unit_rows", "columns", "count")
    dims = load_dims(b, "dims", ranks[0], 2)
    element_dims = load_dims(b, "dims", ranks[1], 1, after=dims)
    # Long contiguous accesses use cache lines and prefetching well.
    unroll = target.registers // 2 if is_contiguous else GATHERED_VECTORS
    if variant.reducer.has_index:
        unroll = min(unroll, target.registers // tuning_for(target).reductions.indexed_registers)
    step = None if is_contiguous else b.integer("column_step")
    with (
        loop_units(b, rows, unit_rows, columns, ReductionTuning.block_columns) as (first, end, column, width),
        loop_rows(b, dims, first, end) as (_, offsets),
    ):
        x_column = column if step is None else column * step
        x_row, y_row = (
            b.gep(x, offsets[0] + x_column, element),
            b.gep(y, offsets[1] + column, variant.result_type.element),
        )
        for i, vectors, mask in loop_vector_blocks(b, width, vector_type.lanes, unroll):
            block = ReducedColumns(b, vector_type, x_row, y_row, element_dims, count, i, vectors, mask, step)
            compute_results(block, variant)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class ReducedColumns:
    """The elements of adjacent results in a reduction by columns: `vectors` vectors from column i on.

    dims, count: of the elements of each result.  mask: that of the only vector, or None.  step: the stride of x between
    columns; None if they are contiguous.
    """

    b: KernelBuilder
    vector_type: LLVMType
    x: str
    y: str
    dims: LoopDims
    count: LLVMValue
    i: LLVMValue
    vectors: int
    mask: LLVMValue | None
    step: LLVMValue | None

    def load(self, offset: LLVMValue, v: int) -> LLVMValue:
        """An element of each result of vector v; offset: that of the element in x."""
        b, lanes, column = self.b, self.vector_type.lanes, self.i + v * self.vector_type.lanes
        if self.step is None:
            return load_vector_at(b, self.x, offset + column, self.vector_type, self.mask)
        first = b.splat(offset + column * self.step, lanes)
        index = first + b.splat(self.step, lanes) * lane_numbers(b, LLVMType("i64", lanes))
        return load_lanes(b, self.x, index, self.vector_type.element, self.mask)


def compute_results(block: ReducedColumns, variant: ReduceVariant) -> None:
    b, shifts = block.b, list[LLVMValue]()
    if variant.op == "log_sum_exp":
        shifts = [finite_shift(b, maximum) for (maximum,) in reduce_columns(block, MAX_OF_NUMBERS, [])]
    for v, state in enumerate(reduce_columns(block, variant.reducer, shifts)):
        result = finish(b, variant, state, shifts[v] if shifts else None, block.count)
        store_at(b, block.y, block.i + v * block.vector_type.lanes, result, block.mask)


def reduce_columns(block: ReducedColumns, reducer: Reducer, shifts: list[LLVMValue]) -> list[State]:
    """Reduces the vectors of a block, after a vector of shifts, if there are any, is subtracted from each.

    Sums of blocks of blocks bound the rounding error, as pairwise summation does (Higham, "The Accuracy of Floating Point
    Summation", 1993): it grows with the root of the terms of each level, not with that of all terms.
    """
    zero = block.b.constant(0, I64)
    is_sum = reducer.combine is SUM.combine and block.vector_type.is_float
    levels = ReductionTuning.column_blocks if is_sum else ()
    return reduce_range(block, reducer, shifts, (zero, block.count), levels)


def reduce_range(
    block: ReducedColumns,
    reducer: Reducer,
    shifts: list[LLVMValue],
    elements: tuple[LLVMValue, LLVMValue],
    levels: Sequence[int],
) -> list[State]:
    """Reduces the elements [first, end) of each result: blocks of the sizes `levels`, the largest one first, each by itself."""
    b, vector_type, (first, end) = block.b, block.vector_type, elements
    accumulators = new_accumulators(b, vector_type, reducer, block.vectors)
    if levels:
        with b.loop(first, end + (levels[0] - 1), levels[0], "block") as start:
            part = (start, b.min(start + levels[0], end))
            states = reduce_range(block, reducer, shifts, part, levels[1:])
            for accumulator, state in zip(accumulators, states, strict=True):
                store_state(b, accumulator, reducer.combine(b, load_state(b, accumulator), state))
        return [load_state(b, accumulator) for accumulator in accumulators]
    with loop_rows(b, block.dims, first, end) as (number, (offset,)):
        position = (b.splat(number, vector_type.lanes),) if reducer.has_index else ()
        for v, accumulator in enumerate(accumulators):
            value = block.load(offset, v)
            accumulate(b, accumulator, reducer, (value - shifts[v] if shifts else value, *position), None)
    return [load_state(b, accumulator) for accumulator in accumulators]


# --- both ------------------------------------------------------------------------------------


def finite_shift(b: KernelBuilder, maximum: LLVMValue) -> LLVMValue:
    """The shift of the exponents of LogSumExp: the maximum, or 0 if that is not finite."""
    is_finite = b.fabs(maximum) < math.inf
    return b.select(is_finite, maximum, b.constant(0, maximum.type))


def finish(
    b: KernelBuilder, variant: ReduceVariant, state: State, shift: LLVMValue | None, count: LLVMValue
) -> LLVMValue:
    """The final result of a state of `count` elements, scalars or vectors, with the epilogue applied; an index has none."""
    if variant.reducer.has_index:
        return state[-1]
    (value,) = state
    number = count
    if value.type.is_float:
        number = count.convert("sitofp", variant.element)
    elif variant.element != "i64":
        number = b.constant(1, LLVMType(variant.element))  # unused: means of integers have no kernel
    value = variant.reducer.finish(b, value, b.splat(number, value.type.lanes))
    result = value if shift is None else value + shift
    return b.emit_expression(variant.epilogue.expression, result.type, lambda _: result)
