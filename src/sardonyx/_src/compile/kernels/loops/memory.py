"""Loads and stores of elements at indices: of adjacent elements, or of one element for each lane (a gather)."""

from __future__ import annotations

from sardonyx._src.compile.codegen import Element, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.blocks import alignment
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import load_if, load_typed, store_vector

GATHERED_BITS = 32  # bits of the narrowest elements that processors gather


def load_at(b: KernelBuilder, base: str, index: LLVMValue, element: Element, lanes: int = 1) -> LLVMValue:
    """A vector of `lanes` elements from base[index] on; a scalar for one lane."""
    llvm_type = LLVMType(element, lanes)
    return b.load(MemoryLocation(b.gep(base, index, llvm_type.llvm_element), llvm_type))


def load_vector_at(
    b: KernelBuilder,
    base: str,
    index: LLVMValue,
    vector_type: LLVMType,
    mask: LLVMValue | None = None,
    masked_value: float = 0,
) -> LLVMValue:
    """A vector of any type from base[index] on; lanes outside the mask are `masked_value`, and their memory is not accessed."""
    return load_typed(b, vector_type, b.gep(base, index, vector_type.element), mask, masked_value)


def store_at(
    b: KernelBuilder, base: str, index: LLVMValue, value: LLVMValue, mask: LLVMValue | None = None
) -> None:
    """Stores a scalar or vector at base[index], only the lanes in the mask if there is one."""
    store_vector(b, value, b.gep(base, index, value.type.llvm_element), mask)


def load_lanes(
    b: KernelBuilder,
    base: str,
    index: LLVMValue,
    element: Element,
    mask: LLVMValue | None = None,
    masked_value: float = 0,
) -> LLVMValue:
    """base[index], lane by lane: a gather.  Lanes outside the mask are `masked_value`, and their memory is not accessed."""
    lanes = index.type.lanes
    llvm_type, mask_type = LLVMType(element, lanes), LLVMType("i1", lanes)
    otherwise = b.constant(masked_value, llvm_type)
    if lanes == 1:
        memory = MemoryLocation(b.gep(base, index, llvm_type.llvm_element), llvm_type)
        return b.load(memory) if mask is None else load_if(b, mask, memory, otherwise)
    name = f"@llvm.masked.gather.{llvm_type.suffix}.v{lanes}p0"
    addresses = f"<{lanes} x ptr>"
    b.declarations[f"declare {llvm_type} {name}({addresses}, i32 immarg, {mask_type}, {llvm_type})"] = None
    source = f"{addresses} {b.gep(base, index, llvm_type.llvm_element)}, i32 {alignment(llvm_type)}"
    active = b.constant(True, mask_type) if mask is None else mask
    return b.emit(llvm_type, f"call {llvm_type} {name}({source}, {active}, {otherwise})")
