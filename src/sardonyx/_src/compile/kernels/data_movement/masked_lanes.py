"""Vector lanes: prefix masks for row remainders, masked loads and stores, shuffles, and horizontal reduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.compile.codegen.blocks import StackSlot, alignment
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder


class LaneEmitter(KernelBuilder):
    """Emits a kernel that handles the remainder of a row, shorter than a vector, by masks."""

    def prefix_mask(self, count: LLVMValue, lanes: int) -> LLVMValue:
        """The mask of the first `count` lanes: [lanes] i1, or a scalar i1 if there is only one lane."""
        if lanes == 1:
            return count > 0
        return self.lane_mask(count, lanes)

    def masked_load_or(self, address: str, mask: LLVMValue, otherwise: LLVMValue) -> LLVMValue:
        """Loads the lanes in the mask and takes the others from `otherwise`; more than one lane."""
        vector_type = otherwise.type
        name = f"@llvm.masked.load.{vector_type.suffix}.p0"
        self.declarations[f"declare {vector_type} {name}(ptr, i32 immarg, {mask.type}, {vector_type})"] = None
        pointer = f"ptr {address}, i32 {alignment(vector_type)}"
        return self.emit(vector_type, f"call {vector_type} {name}({pointer}, {mask}, {otherwise})")

    def masked_store_at(self, value: LLVMValue, address: str, mask: LLVMValue) -> None:
        """Stores the lanes in the mask; the memory of the others is not accessed."""
        self.masked_store(mask, StackSlot(address, value.type), value)

    def shuffle(self, a: LLVMValue, b: LLVMValue, lanes: Sequence[int]) -> LLVMValue:
        """The given lanes of the concatenation of a and b; a scalar if only one lane is given."""
        result_type = LLVMType(a.type.element, len(lanes))
        if result_type.lanes == 1:
            return self.emit(result_type, f"extractelement {a}, i64 {lanes[0]}")
        indices = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.emit(result_type, f"shufflevector {a}, {b}, <{result_type.lanes} x i32> <{indices}>")

    def reduce_lanes(
        self, combine: Callable[[LLVMValue, LLVMValue], LLVMValue], value: LLVMValue
    ) -> LLVMValue:
        """Reduces a vector to a scalar by halving: lane i is combined with lane i + lanes / 2.

        The order of the operations is fixed, so that floating-point results are reproducible.
        """
        while value.type.lanes > 1:
            half = value.type.lanes // 2
            low, high = range(half), range(half, 2 * half)
            value = combine(self.shuffle(value, value, low), self.shuffle(value, value, high))
        return value
