"""CumSum and CumProd: prefix sums and products, element after element in the order that NumPy rounds.

Loop nest: units of work (a row of `block_columns` columns) -> vectors of adjacent columns -> the n entries of the axis, with
one accumulator per lane.  Without a contiguous dim beside the axis, rows are scanned one element at a time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sardonyx._src.compile.codegen import I64, Element, LLVMType, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.kernels.loops.memory import load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import find_columns, full_vector_type, rows_per_unit
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, loop_units
from sardonyx._src.compile.kernels.loops.vectors import loop_vectors
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS, REDUCERS, new_accumulators
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div

# n: entries along the axis.  dims: of the rows of columns (strides of x, of y).
PARAMETERS = Parameters("x", "y", "rows", "unit_rows", "columns", "n", "x_step", "y_step", "dims*")
# Unsigned sums and products have the bits of signed ones.
CUMULATIVE_ELEMENTS: dict[DataType, Element] = {
    **NUMERIC_ELEMENTS,
    DataType.UINT32: "i32",
    DataType.UINT64: "i64",
}


@dataclass(frozen=True, slots=True)
class CumulativeVariant:
    """A prefix sum or product; `exclusive` excludes the element itself, `reverse` starts at the end of the axis."""

    product: bool = False
    exclusive: bool = False
    reverse: bool = False


def cumulative_step(x: TensorView, y: TensorView, axis: int, variant: CumulativeVariant) -> Step:
    """y = the prefix sums or products of x along an axis.

    x, y: of one shape and type; they may be the same tensor.
    """
    element, axis = CUMULATIVE_ELEMENTS[x.dtype], axis % x.rank
    n, steps, tensors = x.shape[axis], [x.strides[axis], y.strides[axis]], [x, y]
    if variant.reverse:
        tensors = [replace(t, offset=t.offset + (n - 1) * t.strides[axis]) for t in tensors]
        steps = [-step for step in steps]
    outer = simplify(IterationSpace(x.shape, (x.strides, y.strides)).drop_dim(axis), by=1)
    inner = find_columns(outer)
    columns = 1 if inner is None else outer.shape[inner]
    rows = row_space(outer if inner is None else outer.drop_dim(inner), by=1)
    is_vectorized, rank = inner is not None, rows.rank
    unit_rows = 1 if is_vectorized else rows_per_unit(n)
    op = f"{'product' if variant.product else 'sum'}{'_before' * variant.exclusive}"
    kernel = Kernel(
        f"running_{element}_{op}_{rank}_{is_vectorized}",
        partial(cumulative_module, element=element, variant=variant, rank=rank, is_vectorized=is_vectorized),
        PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=tensors[0],
        y=tensors[1],
        rows=rows.size,
        unit_rows=unit_rows,
        columns=columns,
        n=n,
        x_step=steps[0],
        y_step=steps[1],
        dims=rows.to_arguments(),
    )
    units = ceil_div(rows.size, unit_rows) * ceil_div(columns, ReductionTuning.block_columns)
    traffic = x.nbytes + y.nbytes
    return Step(kernel, args, units, (x,), (y,), flops=x.num_elements, bytes_accessed=traffic)


def cumulative_module(
    name: str, target: Target, element: Element, variant: CumulativeVariant, rank: int, *, is_vectorized: bool
) -> str:
    """The kernel of prefix sums or products."""
    b, reducer = KernelBuilder(target, PARAMETERS), REDUCERS["prod" if variant.product else "sum"]
    vector_type = full_vector_type(target, element) if is_vectorized else LLVMType(element)
    x, y = b.pointers("x", "y")
    rows, unit_rows, columns = b.integers("rows", "unit_rows", "columns")
    n, x_step, y_step = b.integers("n", "x_step", "y_step")
    dims = load_dims(b, "dims", rank, 2)
    with (
        loop_units(b, rows, unit_rows, columns, ReductionTuning.block_columns) as (first, end, column, count),
        loop_rows(b, dims, first, end) as (_, offsets),
    ):
        x_row, y_row = (b.gep(base, o + column, element) for base, o in zip((x, y), offsets, strict=True))
        for i, mask in loop_vectors(b, 0, count, vector_type.lanes):
            ((accumulator,),) = new_accumulators(b, vector_type, reducer, 1)
            with b.loop(b.constant(0, I64), n, name="k") as k:
                before = b.load(accumulator)
                value = load_vector_at(b, x_row, i + k * x_step, vector_type, mask)
                (after,) = reducer.combine(b, (before,), (value,))
                store_at(b, y_row, i + k * y_step, before if variant.exclusive else after, mask)
                b.store(accumulator, after)
    return b.build_module(name)
