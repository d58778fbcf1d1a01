"""Softmax and LogSoftmax along an axis that is not innermost: each lane computes the softmax of one column.

Loop nest: units of work (a row of BLOCK_COLUMNS columns) -> blocks of vectors of adjacent columns -> three passes over
the n entries of the axis: the maximum; exp(x - max), stored to y, and its sum; the division by the sum.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.kernels.reductions.reducers import emit_exp
from sardonyx._src.compile.kernels.reductions.row_emitter import BLOCK_COLUMNS, NEG_INFINITY, RowEmitter
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import ceil_div


def softmax_columns_step(
    space: IterationSpace, x: TensorView, y: TensorView, axis: int, *, log: bool, nodes: tuple[str, ...]
) -> Step | None:
    """The step over a space of x and y, [..., n, ..., columns]; None if adjacent columns are not contiguous in both."""
    outer = simplify(space.drop_dim(axis), by=1)
    inner = next((d for d in range(outer.rank) if all(s[d] == 1 for s in outer.strides)), None)
    if inner is None:
        return None
    n, columns, rows = space.shape[axis], outer.shape[inner], row_space(outer.drop_dim(inner), by=1)
    kernel = Kernel(
        f"softmax_columns_{log}_{rows.rank}",
        lambda name, target: ColumnSoftmaxEmitter(target, log=log, rank=rows.rank).build_module(name),
    )
    steps = (space.stride(0, axis), space.stride(1, axis))
    args = (x, y, rows.size, n, columns, *steps, *rows.to_arguments())
    units = rows.size * ceil_div(columns, BLOCK_COLUMNS)
    count = space.size
    return Step(kernel, args, units, (x,), (y,), flops=count * 30, bytes_accessed=count * 8, nodes=nodes)


class ColumnSoftmaxEmitter(RowEmitter):
    """Emits a softmax of columns.

    args: x, y, rows, n, columns, strides of x and of y along the axis, dims of the rows (strides of x, of y).
    """

    def __init__(self, target: Target, *, log: bool, rank: int) -> None:
        super().__init__(target)
        self.log = log
        self.bases = [self.pointer_argument(0), self.pointer_argument(1)]
        rows, self.n, columns, *self.steps = (self.size_argument(i) for i in range(2, 7))
        dims = self.load_dims(7, rank, 2)

        def compute_unit(first: LLVMValue, end: LLVMValue, column: LLVMValue, count: LLVMValue) -> None:
            def compute_row(_: LLVMValue, offsets: list[LLVMValue]) -> None:
                x, y = (self.element_pointer(b, o + column) for b, o in zip(self.bases, offsets, strict=True))
                self.loop_vectors(
                    count, lambda i, vectors, mask: self.compute_columns(x, y, i, vectors, mask)
                )

            self.loop_rows(dims, first, end, compute_row)

        self.loop_units(rows, self.constant(1, self.zero.type), columns, BLOCK_COLUMNS, compute_unit)

    def compute_columns(self, x: str, y: str, i: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
        """The softmax of `vectors` vectors of columns from column i on."""
        maxima, sums = self.new_accumulators(NEG_INFINITY, vectors), self.new_accumulators(0, vectors)

        def indices(k: LLVMValue, operand: int) -> list[LLVMValue]:
            return [i + k * self.steps[operand] + v * self.lanes for v in range(vectors)]

        def accumulate_max(k: LLVMValue) -> None:
            for index, maximum in zip(indices(k, 0), maxima, strict=True):
                self.store(maximum, self.max_or_second(self.load_vector(x, index, mask), self.load(maximum)))

        def accumulate_sum(k: LLVMValue) -> None:
            for x_index, y_index, maximum, total in zip(
                indices(k, 0), indices(k, 1), maxima, sums, strict=True
            ):
                value = emit_exp(self, self.load_vector(x, x_index, mask) - self.load(maximum))
                if not self.log:
                    self.store_vector(value, y, y_index, mask)
                self.store(total, self.load(total) + value)

        self.loop_call(self.zero, self.n, 1, accumulate_max, "k")
        self.loop_call(self.zero, self.n, 1, accumulate_sum, "k")
        totals = [self.load(total) for total in sums]
        factors = [self.emit_operation("log", total) if self.log else 1 / total for total in totals]

        def write_result(k: LLVMValue) -> None:
            operands = zip(indices(k, 0), indices(k, 1), maxima, factors, strict=True)
            for x_index, y_index, maximum, factor in operands:
                if self.log:
                    value = self.load_vector(x, x_index, mask) - self.load(maximum) - factor
                else:
                    value = self.load_vector(y, y_index, mask) * factor
                self.store_vector(value, y, y_index, mask)

        self.loop_call(self.zero, self.n, 1, write_result, "k")
