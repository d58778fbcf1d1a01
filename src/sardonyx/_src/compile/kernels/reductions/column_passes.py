"""Passes along an axis that is not innermost: each lane computes those of one column.

Loop nest: units of work (a row of `block_columns` columns) -> blocks of vectors of adjacent columns -> passes over the n
entries of the axis, which are those of a kernel of rows (`row_passes`) without an epilogue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.kernels.loops.memory import load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import find_columns, loop_vector_blocks
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, loop_units
from sardonyx._src.compile.kernels.reductions.reducers import accumulate, load_state, new_accumulators
from sardonyx._src.compile.kernels.reductions.row_kernel import RowKernel
from sardonyx._src.compile.kernels.reductions.row_passes import Emit, Get, RowReduction
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div

PARAMETERS = Parameters("x", "y", "rows", "n", "columns", "x_step", "y_step", "dims*")


def column_passes_step(
    row_kernel: RowKernel, space: IterationSpace, x: TensorView, y: TensorView, axis: int
) -> Step:
    """The step over a space of x and y, float32, [..., n, ..., columns]; adjacent columns are contiguous in both, or there is one."""
    outer = simplify(space.drop_dim(axis), by=1)
    inner = find_columns(outer)
    columns = 1 if inner is None else outer.shape[inner]
    rows = row_space(outer if inner is None else outer.drop_dim(inner), by=1)
    kernel = Kernel(
        f"{row_kernel.key}_by_columns_{rows.rank}",
        partial(column_passes_module, row_kernel=row_kernel, rank=rows.rank),
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
    return Step(
        kernel, args, units, (x,), (y,), flops=count * row_kernel.operations, bytes_accessed=count * 8
    )


def column_passes_module(name: str, target: Target, row_kernel: RowKernel, rank: int) -> str:
    b, vector_type = KernelBuilder(target, PARAMETERS), LLVMType("float", target.lanes)
    x, y = b.pointers("x", "y")
    rows, n, columns, x_step, y_step = b.integers("rows", "n", "columns", "x_step", "y_step")
    dims, unit_rows = load_dims(b, "dims", rank, 2), b.constant(1, I64)
    with (
        loop_units(b, rows, unit_rows, columns, ReductionTuning.block_columns) as (first, end, column, count),
        loop_rows(b, dims, first, end) as (_, (x_offset, y_offset)),
    ):
        tensors = {
            "x": (b.gep(x, x_offset + column), x_step),
            "y": (b.gep(y, y_offset + column), y_step),
        }
        for i, vectors, mask in loop_vector_blocks(b, count, target.lanes, ReductionTuning.row_unroll):
            block = ColumnVectors(b, vector_type, n, tensors, i, mask, [{} for _ in range(vectors)])
            for reduction in chain(*row_kernel.stages):
                reduce_columns(block, reduction)
            write_columns(block, row_kernel.result)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class ColumnVectors:
    """Vectors of adjacent columns from column i on, with n entries each.

    x, y: the addresses of the first entry of column 0, and the elements from an entry to the next.  mask: that of the only
    vector, or None.  results: of each vector, so far, by name.
    """

    b: KernelBuilder
    vector_type: LLVMType
    n: LLVMValue
    tensors: Mapping[str, tuple[str, LLVMValue]]
    i: LLVMValue
    mask: LLVMValue | None
    results: Sequence[dict[str, LLVMValue]]

    def get(self, k: LLVMValue, v: int) -> Get:
        """The entry k of vector v of a tensor, or a result."""
        known = self.results[v]
        return lambda name: known[name] if name in known else self.load(name, k, v)

    def load(self, tensor: str, k: LLVMValue, v: int) -> LLVMValue:
        return load_vector_at(self.b, *self.entry(tensor, k, v), self.vector_type, self.mask)

    def store(self, tensor: str, k: LLVMValue, v: int, value: LLVMValue) -> None:
        store_at(self.b, *self.entry(tensor, k, v), value, self.mask)

    def entry(self, tensor: str, k: LLVMValue, v: int) -> tuple[str, LLVMValue]:
        base, step = self.tensors[tensor]
        return base, self.i + k * step + v * self.vector_type.lanes


def reduce_columns(block: ColumnVectors, reduction: RowReduction) -> None:
    """A pass of a reduction, whose results join those of the block."""
    b, reducer = block.b, reduction.reducer
    assert reducer is not None, f"{reduction.name} must be reduced"
    accumulators = new_accumulators(b, block.vector_type, reducer, len(block.results))
    with b.loop(b.constant(0, I64), block.n, name="k") as k:
        for v, slots in enumerate(accumulators):
            value = reduction.value(b, block.get(k, v))
            if reduction.stored:
                block.store(reduction.stored, k, v, value)
            accumulate(b, slots, reducer, (value,), None)
    for results, slots in zip(block.results, accumulators, strict=True):
        (results[reduction.name],) = load_state(b, slots)
        if reduction.finish:
            results[reduction.name] = reduction.finish(b, results.__getitem__)


def write_columns(block: ColumnVectors, result: Emit) -> None:
    with block.b.loop(block.b.constant(0, I64), block.n, name="k") as k:
        for v in range(len(block.results)):
            block.store("y", k, v, result(block.b, block.get(k, v)))
