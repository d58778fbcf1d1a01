"""Row-wise copy kernel: contiguous rows (memcpy), rows of one repeated element (fill), or strided rows.

Loop nest: units of work (a block of rows x COPY_UNIT_ELEMENTS columns) -> rows -> vectors or single elements.
"""

from __future__ import annotations

from typing import Literal

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import COPY_UNIT_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH, MemcpyEmitter

RowCopyKind = Literal[
    "runs", "splat", "strided"
]  # contiguous on both sides, one repeated element, any strides


class RowCopyEmitter(MemcpyEmitter):
    """Emits a row-wise copy; rows of kind "runs" consist of bytes, others of elements of `size` bytes.

    args: x, y, rows, rows per unit, columns, byte strides of x and of y along a row, dims of the rows (byte strides of
    x, of y).
    """

    def __init__(self, target: Target, kind: RowCopyKind, size: int, rank: int) -> None:
        super().__init__(target)
        self.kind, self.element_type = kind, LLVMType(INTEGERS_BY_WIDTH[size])
        self.bases = [self.pointer_argument(0), self.pointer_argument(1)]
        rows, unit_rows, columns, *self.steps = (self.size_argument(i) for i in range(2, 7))
        dims = self.load_dims(7, rank, 2)

        def copy_unit(first: LLVMValue, end: LLVMValue, column: LLVMValue, count: LLVMValue) -> None:
            self.loop_rows(dims, first, end, lambda _, offsets: self.copy_row(offsets, column, count))

        self.loop_units(rows, unit_rows, columns, COPY_UNIT_ELEMENTS, copy_unit)

    def copy_row(self, offsets: list[LLVMValue], column: LLVMValue, count: LLVMValue) -> None:
        """Copies `count` columns of a row from `column` on."""
        source, target = (
            self.byte_pointer(base, offset + column * step)
            for base, offset, step in zip(self.bases, offsets, self.steps, strict=True)
        )
        if self.kind == "runs":
            self.emit_memcpy(source, target, count)
        elif self.kind == "splat":
            self.emit_fill(self.load(StackSlot(source, self.element_type)), target, count)
        else:
            self.copy_elements(source, target, count)

    def copy_elements(self, source: str, target: str, count: LLVMValue) -> None:
        """Copies strided elements one by one."""

        def copy_element(i: LLVMValue) -> None:
            value = self.load(StackSlot(self.byte_pointer(source, i * self.steps[0]), self.element_type))
            self.store(StackSlot(self.byte_pointer(target, i * self.steps[1]), self.element_type), value)

        self.loop_call(self.constant(0, I64), count, 1, copy_element)
