"""Scatter kernels with a reduction: updates are combined with the elements of y by add, mul, max or min."""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.indexed_copy import IndexedCopyEmitter, IndexedCopyVariant
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.program.step import Kernel
from sardonyx._src.dtypes import DataType

NATIVE_SCATTER_REDUCTIONS = ("add", "mul", "max", "min")


def scatter_reduction_kernel(variant: IndexedCopyVariant, reduction: str, dtype: DataType) -> Kernel:
    """The kernel y[indices] = reduction(y[indices], x), row by row in the order of the updates."""
    assert variant.side == "y", f"the indexed side of a scatter must be y; got {variant}"
    assert reduction in NATIVE_SCATTER_REDUCTIONS, (
        f"reduction must be one of {NATIVE_SCATTER_REDUCTIONS}; got {reduction!r}"
    )
    element = NUMERIC_ELEMENTS[dtype]
    return Kernel(
        f"{variant.key}_{reduction}_{element}",
        lambda name, target: ScatterReductionEmitter(target, variant, reduction, element).build_module(name),
    )


class ScatterReductionEmitter(IndexedCopyEmitter):
    """Emits a scatter that reduces into y; args: as `IndexedCopyEmitter`."""

    def __init__(self, target: Target, variant: IndexedCopyVariant, reduction: str, element: Element) -> None:
        self.reduction, self.scalar_type = reduction, LLVMType(element)
        self.vector_type = LLVMType(element, max(target.lanes * 32 // self.scalar_type.bits, 1))
        super().__init__(target, variant)

    def copy_row(self, source: str, target: str, count: LLVMValue) -> None:
        """Combines `count` bytes of the source with the target."""
        size = self.scalar_type.bits // 8
        if self.element_size:
            self.combine(source, target, self.constant(0, I64), self.scalar_type)
            return
        done, step = self.constant(0, I64), self.vector_type.lanes * size
        if self.vector_type.lanes > 1:
            done = self.loop_call(
                done, count, step, lambda i: self.combine(source, target, i, self.vector_type)
            )
        self.loop_call(done, count, size, lambda i: self.combine(source, target, i, self.scalar_type))

    def combine(self, source: str, target: str, offset: LLVMValue, llvm_type: LLVMType) -> None:
        """Combines a scalar or a vector, `offset` bytes after the given addresses."""
        y_slot = StackSlot(self.byte_pointer(target, offset), llvm_type)
        update = self.load(StackSlot(self.byte_pointer(source, offset), llvm_type))
        self.store(y_slot, self.emit_operation(self.reduction, self.load(y_slot), update))
