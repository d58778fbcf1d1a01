"""ArgMax and ArgMin: builds the step; `arg_reduce_codegen` emits the kernels.

Reduction along a contiguous axis, or where no other dim is contiguous, is by rows: lanes hold elements of one row.
Otherwise it is by columns: lanes hold adjacent columns, and the result needs no combination of lanes.  Rows that are so
short that combining lanes would take most of the time are columns, too, whose elements are gathered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.kernels.memory import GATHERED_BITS
from sardonyx._src.compile.kernels.reductions.arg_reduce_codegen import (
    ARG_COLUMNS_PARAMETERS,
    ARG_ROWS_PARAMETERS,
    ArgVariant,
    arg_reduce_columns_module,
    arg_reduce_rows_module,
)
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.kernels.reductions.rows import find_columns, num_units, row_arguments
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div


@dataclass(frozen=True, slots=True)
class ArgReduction:
    """The element whose index is returned: the maximum or the minimum, and the first or the last of equal ones."""

    is_max: bool
    select_last: bool = False


def arg_reduce_step(x: TensorView, y: TensorView, axis: int, reduction: ArgReduction) -> Step:
    """y = the index of the maximum or minimum of x along an axis; NaN ranks before all numbers.

    x: [..., n, ...]; y: int64, [..., 1, ...] or without that axis.  If n is 0, indices are 0.
    """
    element, axis = NUMERIC_ELEMENTS[x.dtype], axis % x.rank
    assert y.dtype is DataType.INT64, f"y must be int64; got {y.dtype}"
    variant = ArgVariant(element, reduction.is_max, reduction.select_last)
    y_strides = (*y.strides[:axis], 0, *y.strides[axis + (y.rank == x.rank) :])
    results = simplify(IterationSpace(x.shape, (x.strides, y_strides)).drop_dim(axis), by=1)
    columns = find_short_rows(results, x, axis) if x.strides[axis] == 1 else find_columns(results)
    if columns is None:
        return arg_reduce_rows_step(variant, x, y, axis, results)
    return arg_reduce_columns_step(variant, x, y, axis, results, columns)


def find_short_rows(results: IterationSpace, x: TensorView, axis: int) -> int | None:
    """The dim of short rows that is contiguous in y, so that lanes can hold rows; None if there is none."""
    n = x.shape[axis]
    if not isinstance(n, int) or n > ReductionTuning.gathered_row_elements or x.dtype.bits < GATHERED_BITS:
        return None
    return next((d for d in range(results.rank) if results.stride(1, d) == 1), None)


def arg_reduce_rows_step(
    variant: ArgVariant, x: TensorView, y: TensorView, axis: int, results: IterationSpace
) -> Step:
    """The reduction by rows; results: the dims other than the axis, with operands x and y."""
    n, step, rows = x.shape[axis], x.strides[axis], row_space(results, by=1)
    kernel = Kernel(
        f"arg_rows_{variant.key}_{rows.rank}_{step == 1}",
        partial(arg_reduce_rows_module, variant=variant, rank=rows.rank, is_contiguous=step == 1),
        ARG_ROWS_PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = ARG_ROWS_PARAMETERS.pack(x=x, y=y, step=step, **row_arguments(rows, n))
    units, flops, traffic = num_units(rows.size, n), x.num_elements * 4, x.nbytes + y.nbytes
    return Step(kernel, args, units, (x,), (y,), flops=flops, bytes_accessed=traffic)


def arg_reduce_columns_step(
    variant: ArgVariant, x: TensorView, y: TensorView, axis: int, results: IterationSpace, columns: int
) -> Step:
    """The reduction by columns; columns: the dim of `results` that is contiguous in y."""
    is_contiguous = results.stride(0, columns) == 1
    rows = row_space(results.drop_dim(columns), by=1)
    kernel = Kernel(
        f"arg_columns_{variant.key}_{rows.rank}_{is_contiguous}",
        partial(arg_reduce_columns_module, variant=variant, rank=rows.rank, is_contiguous=is_contiguous),
        ARG_COLUMNS_PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = ARG_COLUMNS_PARAMETERS.pack(
        x=x,
        y=y,
        rows=rows.size,
        unit_rows=1,
        columns=results.shape[columns],
        column_step=results.stride(0, columns),
        n=x.shape[axis],
        step=x.strides[axis],
        dims=rows.to_arguments(),
    )
    units = rows.size * ceil_div(results.shape[columns], ReductionTuning.block_columns)
    flops, traffic = x.num_elements * 4, x.nbytes + y.nbytes
    return Step(kernel, args, units, (x,), (y,), flops=flops, bytes_accessed=traffic)
