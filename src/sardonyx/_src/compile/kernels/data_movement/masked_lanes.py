"""Vector lanes: prefix masks for row remainders, masked loads and stores, shuffles, and horizontal reduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.compile.codegen.blocks import StackSlot, alignment
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder


def prefix_mask(b: KernelBuilder, count: LLVMValue, lanes: int) -> LLVMValue:
    """The mask of the first `count` lanes: [lanes] i1, or a scalar i1 if there is only one lane."""
    return count > 0 if lanes == 1 else b.lane_mask(count, lanes)


def masked_load_or(b: KernelBuilder, address: str, mask: LLVMValue, otherwise: LLVMValue) -> LLVMValue:
    """Loads the lanes in the mask and takes the others from `otherwise`; more than one lane."""
    vector_type = otherwise.type
    name = f"@llvm.masked.load.{vector_type.suffix}.p0"
    b.declarations[f"declare {vector_type} {name}(ptr, i32 immarg, {mask.type}, {vector_type})"] = None
    pointer = f"ptr {address}, i32 {alignment(vector_type)}"
    return b.emit(vector_type, f"call {vector_type} {name}({pointer}, {mask}, {otherwise})")


def masked_store_at(b: KernelBuilder, value: LLVMValue, address: str, mask: LLVMValue) -> None:
    """Stores the lanes in the mask; the memory of the others is not accessed."""
    b.masked_store(mask, StackSlot(address, value.type), value)


def shuffle(b: KernelBuilder, low: LLVMValue, high: LLVMValue, lanes: Sequence[int]) -> LLVMValue:
    """The given lanes of the concatenation of two vectors; a scalar if only one lane is given."""
    result_type = LLVMType(low.type.element, len(lanes))
    if result_type.lanes == 1:
        return b.emit(result_type, f"extractelement {low}, i64 {lanes[0]}")
    indices = ", ".join(f"i32 {lane}" for lane in lanes)
    return b.emit(result_type, f"shufflevector {low}, {high}, <{result_type.lanes} x i32> <{indices}>")


def reduce_lanes(
    b: KernelBuilder, combine: Callable[[LLVMValue, LLVMValue], LLVMValue], value: LLVMValue
) -> LLVMValue:
    """Reduces a vector to a scalar by halving: lane i is combined with lane i + lanes / 2.

    The order of the operations is fixed, so that floating-point results are reproducible.
    """
    while value.type.lanes > 1:
        half = value.type.lanes // 2
        low, high = range(half), range(half, 2 * half)
        value = combine(shuffle(b, value, value, low), shuffle(b, value, value, high))
    return value
