"""Kernels of ArgMax and ArgMin, whose steps `arg_reduce` builds: every lane keeps its best element and the index of it.

By rows: rows of the units -> vectors of the row, then the lanes are reduced to one.  By columns: units (a row of
`block_columns` columns) -> vectors of columns -> entries of the axis; columns that are not adjacent are gathered.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.strided_loops import (
    load_dims,
    loop_rows,
    loop_units,
    unit_row_range,
)
from sardonyx._src.compile.kernels.lanes import shuffle
from sardonyx._src.compile.kernels.memory import load_lanes
from sardonyx._src.compile.kernels.reductions.reducers import worst_value
from sardonyx._src.compile.kernels.reductions.rows import (
    full_vector_type,
    lane_numbers,
    load_vector,
    loop_single_vectors,
)
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.kernels.vectors import store_vector

# n, step: elements along the axis and their stride in x.  dims: of the rows (strides of x, of y).
ARG_ROWS_PARAMETERS = Parameters("x", "y", "rows", "unit_rows", "n", "step", "dims*")
# column_step: stride in x of the columns, which are contiguous in y.
ARG_COLUMNS_PARAMETERS = Parameters(
    "x", "y", "rows", "unit_rows", "columns", "column_step", "n", "step", "dims*"
)


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
        return worst_value(self.element, is_max=self.is_max)


def arg_reduce_rows_module(
    name: str, target: Target, variant: ArgVariant, rank: int, *, is_contiguous: bool
) -> str:
    """The kernel of an arg reduction along rows, in vectors if they are contiguous, else element by element."""
    b, element = KernelBuilder(target, ARG_ROWS_PARAMETERS), variant.element
    vector_type = full_vector_type(target, element) if is_contiguous else LLVMType(element)
    x, y = b.pointers("x", "y")
    rows, unit_rows, n, step = b.integers("rows", "unit_rows", "n", "step")
    dims = load_dims(b, "dims", rank, 2)
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (_, (x_offset, y_offset)):
        x_row, result = b.gep(x, x_offset, element), b.gep(y, y_offset, "i64")
        best = new_best(b, variant, vector_type.lanes)
        for i, mask in loop_single_vectors(b, n, vector_type.lanes):
            value = load_vector(b, vector_type, x_row, i if is_contiguous else i * step, mask)
            update_best(b, variant, best, value, lane_indices(b, i, vector_type.lanes), mask)
        index = reduce_best(b, variant, b.load(best.element), b.load(best.index))
        b.store(StackSlot(result, I64), index)
    return b.build_module(name)


def arg_reduce_columns_module(
    name: str, target: Target, variant: ArgVariant, rank: int, *, is_contiguous: bool
) -> str:
    """The kernel of an arg reduction along columns, which are contiguous in y, and in x or gathered."""
    b, element = KernelBuilder(target, ARG_COLUMNS_PARAMETERS), variant.element
    vector_type = full_vector_type(target, element)
    x, y = b.pointers("x", "y")
    rows, unit_rows, columns = b.integers("rows", "unit_rows", "columns")
    column_step, n, step = b.integers("column_step", "n", "step")
    lanes = b.splat(column_step, vector_type.lanes) * lane_numbers(b, LLVMType("i64", vector_type.lanes))
    dims = load_dims(b, "dims", rank, 2)
    with (
        loop_units(b, rows, unit_rows, columns, ReductionTuning.block_columns) as (begin, end, column, count),
        loop_rows(b, dims, begin, end) as (_, (x_offset, y_offset)),
    ):
        x_row = b.gep(x, x_offset + column * column_step, element)
        y_row = b.gep(y, y_offset + column, "i64")
        for i, mask in loop_single_vectors(b, count, vector_type.lanes):
            best = new_best(b, variant, vector_type.lanes)
            with b.loop(b.constant(0, I64), n, name="k") as k:
                if is_contiguous:
                    value = load_vector(b, vector_type, x_row, i + k * step, mask)
                else:
                    first = b.splat(i * column_step + k * step, vector_type.lanes)
                    value = load_lanes(b, x_row, first + lanes, element, mask)
                update_best(b, variant, best, value, b.splat(k, vector_type.lanes), None)
            address, indices = b.gep(y_row, i, "i64"), b.load(best.index)
            if mask is None:
                b.store(StackSlot(address, indices.type), indices)
            else:
                store_vector(b, indices, address, mask)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class BestSlots:
    """Accumulators: in each lane the best element so far, and its index."""

    element: StackSlot
    index: StackSlot


def new_best(b: KernelBuilder, variant: ArgVariant, lanes: int) -> BestSlots:
    """Accumulators that any element replaces."""
    types = LLVMType(variant.element, lanes), LLVMType("i64", lanes)
    best = BestSlots(b.new_slot("best", types[0]), b.new_slot("place", types[1]))
    b.store(best.element, b.constant(variant.identity, types[0]))
    b.store(best.index, b.constant(0, types[1]))
    return best


def update_best(
    b: KernelBuilder,
    variant: ArgVariant,
    best: BestSlots,
    value: LLVMValue,
    index: LLVMValue,
    mask: LLVMValue | None,
) -> None:
    """Replaces the lanes in which the value is better."""
    before = b.load(best.element)
    replaces = is_better(variant, value, before)
    if variant.select_last:
        replaces = replaces | is_equal(value, before)
    if mask is not None:
        replaces = replaces & mask
    b.store(best.element, b.select(replaces, value, before))
    b.store(best.index, b.select(replaces, index, b.load(best.index)))


def reduce_best(b: KernelBuilder, variant: ArgVariant, best: LLVMValue, index: LLVMValue) -> LLVMValue:
    """The index of the best lane, by halving; equal lanes are ordered by index."""
    while best.type.lanes > 1:
        half = best.type.lanes // 2
        low, high = range(half), range(half, 2 * half)
        x, y = shuffle(b, best, best, low), shuffle(b, best, best, high)
        i, j = shuffle(b, index, index, low), shuffle(b, index, index, high)
        precedes = j > i if variant.select_last else j < i
        replaces = is_better(variant, y, x) | (is_equal(x, y) & precedes)
        best, index = b.select(replaces, y, x), b.select(replaces, j, i)
    return index


def is_better(variant: ArgVariant, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """Whether x ranks before y; NaN ranks before all numbers."""
    is_beyond = x > y if variant.is_max else x < y
    return is_beyond | (x.ne(x) & y.eq(y)) if x.type.is_float else is_beyond


def is_equal(x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """Whether x and y rank equally; NaNs do."""
    equal = x.eq(y)
    return equal | (x.ne(x) & y.ne(y)) if x.type.is_float else equal


def lane_indices(b: KernelBuilder, first: LLVMValue, lanes: int) -> LLVMValue:
    """The indices of the elements of a vector: first, first + 1, ..."""
    return first if lanes == 1 else b.splat(first, lanes) + lane_numbers(b, LLVMType("i64", lanes))
