"""Softmax and LogSoftmax along an axis that is not innermost: each lane computes the softmax of one column.

Loop nest: units of work (a row of `block_columns` columns) -> blocks of vectors of adjacent columns -> three passes over
the n entries of the axis: the maximum; exp(x - max), stored to y, and its sum; the division by the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.kernels.data_movement.strided_loops import load_dims, loop_rows, loop_units
from sardonyx._src.compile.kernels.reductions.reducers import (
    MAX_OF_NUMBERS,
    SUM,
    Accumulator,
    accumulate,
    emit_exp,
    new_accumulators,
)
from sardonyx._src.compile.kernels.reductions.rows import (
    find_columns,
    load_vector,
    loop_vector_blocks,
    store_vector,
)
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import ceil_div

PARAMETERS = Parameters("x", "y", "rows", "n", "columns", "x_step", "y_step", "dims*")


def softmax_columns_step(
    space: IterationSpace, x: TensorView, y: TensorView, axis: int, *, log: bool
) -> Step:
    """The step over a space of x and y, [..., n, ..., columns]; adjacent columns are contiguous in both, or there is one."""
    outer = simplify(space.drop_dim(axis), by=1)
    inner = find_columns(outer)
    columns = 1 if inner is None else outer.shape[inner]
    rows = row_space(outer if inner is None else outer.drop_dim(inner), by=1)
    kernel = Kernel(
        f"softmax_columns_{log}_{rows.rank}",
        partial(softmax_columns_module, log=log, rank=rows.rank),
        PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        y=y,
        rows=rows.size,
        n=space.shape[axis],
        columns=columns,
        x_step=space.stride(0, axis),
        y_step=space.stride(1, axis),
        dims=rows.to_arguments(),
    )
    units = rows.size * ceil_div(columns, ReductionTuning.block_columns)
    count = space.size
    return Step(kernel, args, units, (x,), (y,), flops=count * 30, bytes_accessed=count * 8)


def softmax_columns_module(name: str, target: Target, *, log: bool, rank: int) -> str:
    """The kernel of a softmax of columns."""
    b, vector_type = KernelBuilder(target, PARAMETERS), LLVMType("float", target.lanes)
    x, y = b.pointers("x", "y")
    rows, n, columns, x_step, y_step = b.integers("rows", "n", "columns", "x_step", "y_step")
    dims, unit_rows = load_dims(b, "dims", rank, 2), b.constant(1, I64)
    with (
        loop_units(b, rows, unit_rows, columns, ReductionTuning.block_columns) as (first, end, column, count),
        loop_rows(b, dims, first, end) as (_, (x_offset, y_offset)),
    ):
        x_row, y_row = b.gep(x, x_offset + column), b.gep(y, y_offset + column)
        for i, vectors, mask in loop_vector_blocks(b, count, target.lanes, ReductionTuning.row_unroll):
            block = SoftmaxBlock(b, vector_type, n, x_row, y_row, x_step, y_step, i, vectors, mask)
            compute_block(block, log=log)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class SoftmaxBlock:
    """Vectors of adjacent columns from column i on, with n entries each, x_step and y_step elements apart.

    x, y: the addresses of the first entry of column 0.  mask: that of the only vector, or None.
    """

    b: KernelBuilder
    vector_type: LLVMType
    n: LLVMValue
    x: str
    y: str
    x_step: LLVMValue
    y_step: LLVMValue
    i: LLVMValue
    vectors: int
    mask: LLVMValue | None

    def indices(self, k: LLVMValue, step: LLVMValue) -> list[LLVMValue]:
        """The index of each vector of entry k."""
        return [self.i + k * step + v * self.vector_type.lanes for v in range(self.vectors)]


def compute_block(block: SoftmaxBlock, *, log: bool) -> None:
    b, zero = block.b, block.b.constant(0, I64)
    maxima = new_accumulators(b, block.vector_type, MAX_OF_NUMBERS, block.vectors)
    sums = new_accumulators(b, block.vector_type, SUM, block.vectors)
    with b.loop(zero, block.n, name="k") as k:
        for index, maximum in zip(block.indices(k, block.x_step), maxima, strict=True):
            x = load_vector(b, block.vector_type, block.x, index, block.mask)
            accumulate(b, maximum, MAX_OF_NUMBERS, (x,), None)
    with b.loop(zero, block.n, name="k") as k:
        add_exponentials(block, k, maxima, sums, log=log)
    totals = [b.load(total) for (total,) in sums]
    factors = [b.emit_operation("log", total) if log else 1 / total for total in totals]
    with b.loop(zero, block.n, name="k") as k:
        write_results(block, k, maxima, factors, log=log)


def add_exponentials(
    block: SoftmaxBlock, k: LLVMValue, maxima: list[Accumulator], sums: list[Accumulator], *, log: bool
) -> None:
    """Adds exp(x - max) of entry k to the sums, and stores it to y, except for LogSoftmax."""
    b, indices = block.b, (block.indices(k, block.x_step), block.indices(k, block.y_step))
    for x_index, y_index, maximum, total in zip(*indices, maxima, sums, strict=True):
        x = load_vector(b, block.vector_type, block.x, x_index, block.mask)
        value = emit_exp(b, x - b.load(maximum[0]))
        if not log:
            store_vector(b, value, block.y, y_index, block.mask)
        accumulate(b, total, SUM, (value,), None)


def write_results(
    block: SoftmaxBlock, k: LLVMValue, maxima: list[Accumulator], factors: list[LLVMValue], *, log: bool
) -> None:
    """Writes entry k of the results; factors: 1 / sum of the exponentials in y, or for LogSoftmax log(sum)."""
    b, indices = block.b, (block.indices(k, block.x_step), block.indices(k, block.y_step))
    for x_index, y_index, maximum, factor in zip(*indices, maxima, factors, strict=True):
        if log:
            x = load_vector(b, block.vector_type, block.x, x_index, block.mask)
            value = x - b.load(maximum[0]) - factor
        else:
            value = load_vector(b, block.vector_type, block.y, y_index, block.mask) * factor
        store_vector(b, value, block.y, y_index, block.mask)
