"""ArgMax and ArgMin: builds the step; `arg_reduce_codegen` emits the kernels.

Reduction along a contiguous axis, or where no other dim is contiguous, is by rows: lanes hold elements of one row.
Otherwise it is by columns: lanes hold adjacent columns, and the result needs no combination of lanes.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.kernels.reductions.arg_reduce_codegen import (
    ArgVariant,
    ColumnArgReduceEmitter,
    RowArgReduceEmitter,
)
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.kernels.reductions.row_emitter import BLOCK_COLUMNS, num_units, rows_per_unit
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div


@dataclass(frozen=True, slots=True)
class ArgReduction:
    """The element whose index is returned: the maximum or the minimum, and the first or the last of equal ones."""

    is_max: bool
    select_last: bool = False


def arg_reduce_step(
    x: TensorView, y: TensorView, axis: int, reduction: ArgReduction, nodes: tuple[str, ...] = ()
) -> Step | None:
    """y = the index of the maximum or minimum of x along an axis; NaN ranks before all numbers.

    x: [..., n, ...]; y: int64, [..., 1, ...] or without that axis.  If n is 0, indices are 0.
    None for element types without a kernel.
    """
    element, axis = NUMERIC_ELEMENTS.get(x.dtype), axis % x.rank
    if element is None:
        return None
    assert y.dtype is DataType.INT64, f"y must be int64; got {y.dtype}"
    variant = ArgVariant(element, reduction.is_max, reduction.select_last)
    y_strides = (*y.strides[:axis], 0, *y.strides[axis + (y.rank == x.rank) :])
    n, step = x.shape[axis], x.strides[axis]
    results = simplify(IterationSpace(x.shape, (x.strides, y_strides)).drop_dim(axis), by=1)
    columns = next((d for d in range(results.rank) if [s[d] for s in results.strides] == [1, 1]), None)
    if columns is None or step == 1:
        rows, is_contiguous = row_space(results, by=1), step == 1
        rank = rows.rank
        kernel = Kernel(
            f"arg_rows_{variant.key}_{rank}_{is_contiguous}",
            lambda name, target: RowArgReduceEmitter(
                target, variant, rank, is_contiguous=is_contiguous
            ).build_module(name),
        )
        args = (x, y, rows.size, rows_per_unit(n), n, step, *rows.to_arguments())
        units = num_units(rows.size, n)
    else:
        rows = row_space(results.drop_dim(columns), by=1)
        rank = rows.rank
        kernel = Kernel(
            f"arg_columns_{variant.key}_{rank}",
            lambda name, target: ColumnArgReduceEmitter(target, variant, rank).build_module(name),
        )
        args = (x, y, rows.size, 1, results.shape[columns], n, step, *rows.to_arguments())
        units = rows.size * ceil_div(results.shape[columns], BLOCK_COLUMNS)
    traffic = x.nbytes + y.nbytes
    return Step(
        kernel, args, units, (x,), (y,), flops=x.num_elements * 4, bytes_accessed=traffic, nodes=nodes
    )
