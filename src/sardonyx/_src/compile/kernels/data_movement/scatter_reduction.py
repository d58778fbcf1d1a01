"""Scatters with a reduction: updates are combined with the elements of y by add, mul, max or min."""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import byte_slot
from sardonyx._src.dataclass import dataclass

NATIVE_SCATTER_REDUCTIONS = ("add", "mul", "max", "min")


@dataclass(frozen=True, slots=True)
class ScatterReduction:
    """y[indices] = op(y[indices], x), row by row in the order of the updates."""

    op: str
    element: Element

    def __post_init__(self) -> None:
        assert self.op in NATIVE_SCATTER_REDUCTIONS, (
            f"reduction must be one of {NATIVE_SCATTER_REDUCTIONS}; got {self.op!r}"
        )

    @property
    def key(self) -> str:
        return f"{self.op}_{self.element}"


def reduce_row(
    b: KernelBuilder, reduction: ScatterReduction, x: str, y: str, count: LLVMValue, *, single: bool
) -> None:
    """Combines `count` bytes of x with y, in vectors and then element by element; single: there is only one element."""
    scalar_type, zero = LLVMType(reduction.element), b.constant(0, I64)
    if single:
        reduce_at(b, reduction, x, y, zero, scalar_type)
        return
    lanes, size, i = max(b.target.lanes * 32 // scalar_type.bits, 1), scalar_type.bits // 8, zero
    if lanes > 1:
        with b.loop(i, count, lanes * size) as i:
            reduce_at(b, reduction, x, y, i, LLVMType(reduction.element, lanes))
    with b.loop(i, count, size) as i:
        reduce_at(b, reduction, x, y, i, scalar_type)


def reduce_at(
    b: KernelBuilder, reduction: ScatterReduction, x: str, y: str, offset: LLVMValue, llvm_type: LLVMType
) -> None:
    """Combines a scalar or a vector, `offset` bytes after the given addresses."""
    y_slot = byte_slot(b, y, offset, llvm_type)
    update = b.load(byte_slot(b, x, offset, llvm_type))
    b.store(y_slot, b.emit_operation(reduction.op, b.load(y_slot), update))
