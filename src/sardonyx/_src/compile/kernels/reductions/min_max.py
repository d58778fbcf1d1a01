"""Range of a tensor for dynamic quantization: the minimum and maximum of 0 and all elements, by a tree of two levels.

The first step reduces each block of `min_max_block` elements, one unit of work, to a pair [minimum, maximum]; a second step
of one unit reduces the pairs.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMType, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.operations import emit_max, emit_min
from sardonyx._src.compile.kernels.loops.memory import load_vector_at
from sardonyx._src.compile.kernels.loops.rows import loop_unrolled_vectors
from sardonyx._src.compile.kernels.reductions.reducers import (
    Reducer,
    accumulate,
    each,
    new_accumulators,
    reduce_accumulators,
)
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Buffer, Kernel, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

PARAMETERS = Parameters("x", "y", "count", "block")  # elements of x, and of a block
MIN_AND_MAX = Reducer((0, 0), each(emit_min, emit_max))


def min_max_steps(x: TensorView, name: str = "extremes") -> tuple[TensorView, list[Step]]:
    """[2] float32, the minimum and maximum of 0 and the elements of x, NaN if one is NaN; and the steps.

    x: float32, dense.
    """
    blocks = dim_max(ceil_div(x.num_elements, ReductionTuning.min_max_block), 1)
    partial = allocate_pairs(blocks, name)
    steps = [min_max_step(x, partial, blocks, ReductionTuning.min_max_block)]
    if blocks == 1:
        return partial, steps
    result = allocate_pairs(1, name)
    return result, [*steps, min_max_step(partial, result, 1, partial.num_elements)]


def allocate_pairs(count: Known, name: str) -> TensorView:
    """Memory for pairs [minimum, maximum] in the arena."""
    return TensorView(DataType.FLOAT, (count * 2,), (1,), Buffer("arena", count * 8, name))


def min_max_step(x: TensorView, y: TensorView, blocks: Known, block: Known) -> Step:
    """y = the pairs of the blocks of x, with `block` elements each."""
    assert x.is_dense and x.dtype is DataType.FLOAT, f"x must be dense float32; got {x}"
    return Step(
        Kernel("extremes_f32", min_max_module, PARAMETERS),
        PARAMETERS.pack(x=x, y=y, count=x.num_elements, block=block),
        units=blocks,
        reads=(x,),
        writes=(y,),
        flops=x.num_elements * 2,
        bytes_accessed=x.nbytes,
    )


def min_max_module(name: str, target: Target) -> str:
    b, vector_type = KernelBuilder(target, PARAMETERS), LLVMType("float", target.lanes)
    x, y, (count, block) = b.pointer("x"), b.pointer("y"), b.integers("count", "block")
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        first = unit * block
        row, n = b.gep(x, first), b.min(count - first, block)
        accumulators = new_accumulators(b, vector_type, MIN_AND_MAX)
        for v, index, mask in loop_unrolled_vectors(b, n, vector_type.lanes):
            value = load_vector_at(b, row, index, vector_type, mask)
            accumulate(b, accumulators[v], MIN_AND_MAX, (value, value), mask)
        for side, total in enumerate(reduce_accumulators(b, MIN_AND_MAX, accumulators)):
            b.store(MemoryLocation(b.gep(y, unit * 2 + side), total.type), total)
    return b.build_module(name)
