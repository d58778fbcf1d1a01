"""Range of a tensor for dynamic quantization: the minimum and maximum of 0 and all elements, by a tree of two levels.

The first step reduces each block of `min_max_block` elements, one unit of work, to a pair [minimum, maximum]; a second step
of one unit reduces the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.emit_expressions import emit_max, emit_min
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.tuning import ReductionTuning, tuning_for
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

PARAMETERS = Parameters("x", "y", "count", "block")  # elements of x, and of a block


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
    """Reduces the blocks: unrolled vectors, single vectors, then single elements; then all accumulators of a block."""
    b, lanes = KernelBuilder(target, PARAMETERS), target.lanes
    unroll = tuning_for(target).reductions.min_max_unroll
    x, y, count, block = b.pointer("x"), b.pointer("y"), b.integer("count"), b.integer("block")
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        i = unit * block
        end = i + block
        end = b.select(end < count, end, count)
        pairs = [new_pair(b, LLVMType("float", lanes)) for _ in range(unroll)]
        for vectors in (unroll, 1):
            with b.loop(i, end, lanes * vectors) as i:
                update_pairs(b, pairs[:vectors], x, i)
        remainder = new_pair(b, LLVMType("float"))
        with b.loop(i, end) as i:
            update_pairs(b, [remainder], x, i)
        for side, intrinsic in enumerate(("fminimum", "fmaximum")):
            total = reduce_slots(b, intrinsic, [pair[side] for pair in (remainder, *pairs)])
            b.store(StackSlot(b.gep(y, unit * 2 + side), total.type), total)
    return b.build_module(name)


def new_pair(b: KernelBuilder, llvm_type: LLVMType) -> tuple[StackSlot, StackSlot]:
    """Accumulators of the minimum and of the maximum, 0 at first."""
    pair = b.new_slot("low", llvm_type), b.new_slot("high", llvm_type)
    for slot in pair:
        b.store(slot, b.constant(0.0, llvm_type))
    return pair


def update_pairs(
    b: KernelBuilder, pairs: Sequence[tuple[StackSlot, StackSlot]], x: str, i: LLVMValue
) -> None:
    """Loads a vector for each pair of accumulators from element i on, and updates them."""
    for k, (low, high) in enumerate(pairs):
        value = b.load(StackSlot(b.gep(x, i + k * low.type.lanes), low.type))
        b.store(low, emit_min(b, b.load(low), value))
        b.store(high, emit_max(b, b.load(high), value))


def reduce_slots(b: KernelBuilder, intrinsic: str, slots: Sequence[StackSlot]) -> LLVMValue:
    """The minimum or maximum of a scalar accumulator and of all lanes of the others; intrinsic: of a vector's lanes."""
    combine = emit_min if intrinsic == "fminimum" else emit_max
    total = b.load(slots[0])
    for slot in slots[1:]:
        value = b.load(slot)
        if value.type.lanes > 1:
            value = b.call_intrinsic(f"vector.reduce.{intrinsic}", value, result_type=total.type)
        total = combine(b, total, value)
    return total
