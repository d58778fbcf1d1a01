"""Reductions along any set of axes, ArgMax and ArgMin along one: builds the step; `reduce_codegen` emits the kernels.

If a dim that is kept is contiguous in x and y, adjacent results share a vector (reduction by columns), and so do those of
short rows, whose elements are gathered; otherwise lanes hold elements of one row and are combined at the end (reduction by
rows).
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.kernels.epilogue import NO_EPILOGUE, Epilogue
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.kernels.loops.memory import GATHERED_BITS
from sardonyx._src.compile.kernels.loops.rows import find_columns, num_units, rows_per_unit
from sardonyx._src.compile.kernels.reductions.arg_reducer import ArgReduction
from sardonyx._src.compile.kernels.reductions.reduce_codegen import (
    REDUCE_COLUMNS_PARAMETERS,
    REDUCE_ROWS_PARAMETERS,
    ReduceVariant,
    reduce_columns_module,
    reduce_rows_module,
)
from sardonyx._src.compile.kernels.reductions.reducers import (
    NUMERIC_ELEMENTS,
    REDUCED_ELEMENTS,
    ReduceOp,
    find_reducer,
)
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div


def reduce_step(
    op: ReduceOp, x: TensorView, y: TensorView, axes: tuple[int, ...], epilogue: Epilogue = NO_EPILOGUE
) -> Step:
    """y = the reduction of x along some axes, which are not negative.

    x, y: of one type; y has the dims of x with sizes of 1 for the axes, or without those.  epilogue: without operands,
    for float32 only.  Without axes each element is a result.  The operator has a reducer for the type (`find_reducer`).
    """
    element = REDUCED_ELEMENTS[x.dtype]
    reducer = find_reducer(op, element)
    assert reducer is not None, f"{op} must have a reducer for {x.dtype}"
    return reduction_step(ReduceVariant(op, element, reducer, epilogue), x, y, axes)


def arg_reduce_step(x: TensorView, y: TensorView, axis: int, reduction: ArgReduction) -> Step:
    """y = the index of the maximum or minimum of x along an axis; NaN ranks before all numbers.

    x: [..., n, ...]; y: int64, [..., 1, ...] or without that axis.  If n is 0, indices are 0.
    """
    assert y.dtype is DataType.INT64, f"y must be int64; got {y.dtype}"
    element = NUMERIC_ELEMENTS[x.dtype]
    variant = ReduceVariant(reduction.key, element, reduction.reducer(element), NO_EPILOGUE)
    return reduction_step(variant, x, y, (axis % x.rank,))


def reduction_step(variant: ReduceVariant, x: TensorView, y: TensorView, axes: tuple[int, ...]) -> Step:
    """The step of a variant, by rows or by columns."""
    kept_axes = [d for d in range(x.rank) if d not in axes]
    x_strides = tuple(x.strides[d] for d in kept_axes)
    y_strides = tuple(y.strides[d] for d in kept_axes) if y.rank == x.rank else y.strides
    results = simplify(IterationSpace(tuple(x.shape[d] for d in kept_axes), (x_strides, y_strides)), by=1)
    reduced = IterationSpace(tuple(x.shape[d] for d in axes), (tuple(x.strides[d] for d in axes),))
    reduced = row_space(reduced, by=0)
    columns = find_columns(results)
    if columns is None and has_short_rows(variant, x, reduced):
        columns = next((d for d in range(results.rank) if results.stride(1, d) == 1), None)
    if columns is None:
        return reduce_rows_step(variant, x, y, results, reduced)
    return reduce_columns_step(variant, x, y, results, reduced, columns)


def has_short_rows(variant: ReduceVariant, x: TensorView, reduced: IterationSpace) -> bool:
    """Whether results have so few elements that combining the lanes of one would take longer than gathering them."""
    count = reduced.size
    is_short = isinstance(count, int) and count <= variant.gathered_elements
    return is_short and x.dtype.bits >= GATHERED_BITS


def reduce_rows_step(
    variant: ReduceVariant, x: TensorView, y: TensorView, results: IterationSpace, reduced: IterationSpace
) -> Step:
    """The reduction by rows; a row is the innermost of the reduced dims.

    results: the kept dims, with operands x and y.  reduced: the reduced dims, with operand x.
    """
    rows, n, step = row_space(results, by=1), reduced.shape[-1], reduced.stride(0, -1)
    inner_rows = row_space(reduced.drop_dim(-1), by=0)
    ranks, is_contiguous = (rows.rank, inner_rows.rank), step == 1
    kernel = Kernel(
        f"reduce_rows_{variant.key}_{ranks}_{is_contiguous}",
        partial(reduce_rows_module, variant=variant, ranks=ranks, is_contiguous=is_contiguous),
        REDUCE_ROWS_PARAMETERS,
    )
    count = reduced.size
    args: tuple[KernelArgument, ...] = REDUCE_ROWS_PARAMETERS.pack(
        x=x,
        y=y,
        results=rows.size,
        unit_results=rows_per_unit(count),
        count=count,
        n=n,
        step=step,
        rows=inner_rows.size,
        dims=(*rows.to_arguments(), *inner_rows.to_arguments()),
    )
    return Step(
        kernel,
        args,
        num_units(rows.size, count),
        (x,),
        (y,),
        flops=x.num_elements * variant.operations,
        bytes_accessed=x.nbytes + y.nbytes,
    )


def reduce_columns_step(
    variant: ReduceVariant,
    x: TensorView,
    y: TensorView,
    results: IterationSpace,
    reduced: IterationSpace,
    columns: int,
) -> Step:
    """The reduction by columns; columns: the dim of `results` that is contiguous in y."""
    step = results.stride(0, columns)
    n, rows = results.shape[columns], row_space(results.drop_dim(columns), by=1)
    ranks = (rows.rank, reduced.rank)
    kernel = Kernel(
        f"reduce_columns_{variant.key}_{ranks}_{step == 1}",
        partial(reduce_columns_module, variant=variant, ranks=ranks, is_contiguous=step == 1),
        REDUCE_COLUMNS_PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = REDUCE_COLUMNS_PARAMETERS.pack(
        x=x,
        y=y,
        rows=rows.size,
        unit_rows=1,
        columns=n,
        column_step=step,
        count=reduced.size,
        dims=(*rows.to_arguments(), *reduced.to_arguments()),
    )
    units = rows.size * ceil_div(n, ReductionTuning.block_columns)
    traffic = x.num_elements * element_bytes(x.dtype) + y.nbytes
    return Step(
        kernel, args, units, (x,), (y,), flops=x.num_elements * variant.operations, bytes_accessed=traffic
    )
