"""Range of a tensor for dynamic quantization: the minimum and maximum of 0 and all elements, by a tree of two levels.

The first step reduces each block of MIN_MAX_BLOCK elements, one unit of work, to a pair [minimum, maximum]; a second step
of one unit reduces the pairs.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.emit_expressions import emit_max, emit_min
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

MIN_MAX_BLOCK = 1 << 14  # elements of a unit of work
MIN_MAX_UNROLL = 4  # vectors of an iteration


def min_max_steps(x: TensorView, name: str = "extremes") -> tuple[TensorView, list[Step]]:
    """[2] float32, the minimum and maximum of 0 and the elements of x, NaN if one is NaN; and the steps.

    x: float32, dense.
    """
    blocks = dim_max(ceil_div(x.num_elements, MIN_MAX_BLOCK), 1)
    partial = allocate_pairs(blocks, name)
    steps = [min_max_step(x, partial, blocks, MIN_MAX_BLOCK)]
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
        Kernel("extremes_f32", min_max_module),
        (x, y, x.num_elements, block),
        units=blocks,
        reads=(x,),
        writes=(y,),
        flops=x.num_elements * 2,
        bytes_accessed=x.nbytes,
    )


def min_max_module(name: str, target: Target) -> str:
    emitter = MinMaxEmitter(target)
    emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, emitter.reduce_block, "unit")
    return emitter.build_module(name)


class MinMaxEmitter(KernelBuilder):
    """Emits the reduction of blocks; args: x, y (pairs), elements of x, elements of a block."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.lanes = target.lanes
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)
        self.count, self.block = self.size_argument(2), self.size_argument(3)

    def reduce_block(self, unit: LLVMValue) -> None:
        """Reduces a block: unrolled vectors, single vectors, then single elements; then all accumulators."""
        first = unit * self.block
        end = first + self.block
        end = self.select(end < self.count, end, self.count)
        vector_type, scalar_type = LLVMType("float", self.lanes), LLVMType("float")
        vectors = [self.new_pair(vector_type) for _ in range(MIN_MAX_UNROLL)]
        done = self.loop_call(first, end, self.lanes * MIN_MAX_UNROLL, lambda i: self.update(i, vectors), "i")
        done = self.loop_call(done, end, self.lanes, lambda i: self.update(i, vectors[:1]), "j")
        scalar = [self.new_pair(scalar_type)]
        self.loop_call(done, end, 1, lambda i: self.update(i, scalar), "k")
        for side, (combine, name) in enumerate(((emit_min, "fminimum"), (emit_max, "fmaximum"))):
            total = self.load(scalar[0][side])
            for slots in vectors:
                value = self.load(slots[side])
                if self.lanes > 1:
                    value = self.call_intrinsic(f"vector.reduce.{name}", value, result_type=scalar_type)
                total = combine(self, total, value)
            self.store(StackSlot(self.gep(self.y, unit * 2 + side), scalar_type), total)

    def new_pair(self, llvm_type: LLVMType) -> tuple[StackSlot, StackSlot]:
        """Accumulators of the minimum and of the maximum, 0 at first."""
        pair = self.new_slot("low", llvm_type), self.new_slot("high", llvm_type)
        for slot in pair:
            self.store(slot, self.constant(0.0, llvm_type))
        return pair

    def update(self, i: LLVMValue, pairs: list[tuple[StackSlot, StackSlot]]) -> None:
        """Loads a vector for each pair of accumulators from element i on, and updates them."""
        for k, (low, high) in enumerate(pairs):
            x = self.load(StackSlot(self.gep(self.x, i + k * low.type.lanes), low.type))
            self.store(low, emit_min(self, self.load(low), x))
            self.store(high, emit_max(self, self.load(high), x))
