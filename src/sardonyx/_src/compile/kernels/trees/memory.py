"""Loads of table entries: one, or one for each lane."""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import StackSlot, alignment
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder


def load_at(b: KernelBuilder, base: str, index: LLVMValue, element: Element, lanes: int = 1) -> LLVMValue:
    """base[index] and the elements after it in as many lanes."""
    llvm_type = LLVMType(element, lanes)
    return b.load(StackSlot(b.gep(base, index, llvm_type.llvm_element), llvm_type))


def store_at(b: KernelBuilder, base: str, index: LLVMValue, value: LLVMValue) -> None:
    """Stores a scalar or vector at base[index]."""
    b.store(StackSlot(b.gep(base, index, value.type.llvm_element), value.type), value)


def load_lanes(b: KernelBuilder, base: str, index: LLVMValue, element: Element) -> LLVMValue:
    """base[index], lane by lane: a gather."""
    lanes = index.type.lanes
    if lanes == 1:
        return load_at(b, base, index, element)
    llvm_type, mask = LLVMType(element, lanes), LLVMType("i1", lanes)
    name = f"@llvm.masked.gather.{llvm_type.suffix}.v{lanes}p0"
    addresses = f"<{lanes} x ptr>"
    b.declarations[f"declare {llvm_type} {name}({addresses}, i32 immarg, {mask}, {llvm_type})"] = None
    source = f"{addresses} {b.gep(base, index, llvm_type.llvm_element)}, i32 {alignment(llvm_type)}"
    everywhere = b.constant(True, mask)
    return b.emit(llvm_type, f"call {llvm_type} {name}({source}, {everywhere}, {llvm_type} poison)")
