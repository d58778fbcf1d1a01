"""Indexed copy kernel of gathers and scatters: rows of bytes at positions given by bounds-checked run-time indices.

Loop nest: units of work (blocks of rows; for gathers of long rows also blocks of bytes) -> rows: load the index tuple,
check it, add its offset to the indexed operand -> memcpy of the row, or one element.  `gather` builds the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import COPY_UNIT_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH, MemcpyEmitter

IndexedSide = Literal["x", "y"]  # the operand that is indexed: x in gathers, y in scatters
INDEXED_UNIT_BYTES = 4 * COPY_UNIT_ELEMENTS  # of rows, in a unit of work


@dataclass(frozen=True, slots=True)
class IndexedCopyVariant:
    """Specialization key of an indexed copy.

    index: the type of the indices.  depth: indices of a tuple.  rank: dims of the rows.  size: bytes of a row that is a
    single element; 0 for rows of any length.
    """

    side: IndexedSide
    index: Element
    depth: int
    rank: int
    size: int

    @property
    def key(self) -> str:
        return f"pick_{self.side}_{self.index}_{self.depth}_{self.rank}_{self.size}"


class IndexedCopyEmitter(MemcpyEmitter):
    """Emits an indexed copy.

    args: x, y, indices, status, rows, rows per unit, bytes of a row, stride between the indices of a tuple; for each
    index of a tuple the size of its axis and its byte stride; dims of the rows (byte strides of x, of y; element strides
    of the indices).

    A negative index counts from the end.  For an index out of bounds nothing is read, `status` becomes the maximum of
    itself and 1 + the offset of the tuple in `indices`, and the row of y is zeroed by gathers, unchanged by scatters.
    """

    def __init__(self, target: Target, variant: IndexedCopyVariant) -> None:
        super().__init__(target)
        side, depth, size = variant.side, variant.depth, variant.size
        self.side, self.index_type, self.element_size = side, LLVMType(variant.index), size
        self.bases = [self.pointer_argument(0), self.pointer_argument(1)]
        self.indices, self.status = self.pointer_argument(2), self.pointer_argument(3)
        rows, unit_rows, row_bytes, self.step = (self.size_argument(i) for i in range(4, 8))
        self.axes = [(self.size_argument(8 + 2 * i), self.size_argument(9 + 2 * i)) for i in range(depth)]
        dims = self.load_dims(8 + 2 * depth, variant.rank, 3)

        def copy_unit(first: LLVMValue, end: LLVMValue, column: LLVMValue, count: LLVMValue) -> None:
            self.loop_rows(dims, first, end, lambda _, offsets: self.copy_indexed_row(offsets, column, count))

        if side == "x" and not size:
            self.loop_units(rows, unit_rows, row_bytes, INDEXED_UNIT_BYTES, copy_unit)
        else:
            first, end = (
                self.min(self.first_unit * unit_rows, rows),
                self.min(self.end_unit * unit_rows, rows),
            )
            copy_unit(first, end, self.constant(0, I64), row_bytes)

    def copy_indexed_row(self, offsets: list[LLVMValue], column: LLVMValue, count: LLVMValue) -> None:
        """Copies `count` bytes of a row from byte `column` on, or records an index out of bounds."""
        index_offset = offsets[2]
        distance, is_valid = self.load_indices(index_offset)
        indexed = ("x", "y").index(self.side)
        offsets = [offset + column for offset in offsets[:2]]
        offsets[indexed] = offsets[indexed] + distance
        source, target = (
            self.byte_pointer(base, offset) for base, offset in zip(self.bases, offsets, strict=True)
        )
        self.if_then_call(is_valid, lambda: self.copy_row(source, target, count))
        self.if_then_call(is_valid.eq(0), lambda: self.record_error(index_offset, target, count))

    def load_indices(self, index_offset: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
        """The byte offset that a tuple of indices selects, and whether all of them are in bounds."""
        distance, is_valid = self.constant(0, I64), self.constant(1, LLVMType("i1"))
        for number, (size, stride) in enumerate(self.axes):
            address = self.gep(self.indices, index_offset + self.step * number, self.index_type.element)
            index = self.load(StackSlot(address, self.index_type))
            if self.index_type != I64:
                index = index.convert("sext", "i64")
            index = self.select(index < 0, index + size, index)
            is_valid = is_valid & (index >= 0) & (index < size)
            distance = distance + index * stride
        return distance, is_valid

    def copy_row(self, source: str, target: str, count: LLVMValue) -> None:
        """Copies a row of `count` bytes, or of one element."""
        if not self.element_size:
            self.emit_memcpy(source, target, count)
            return
        element_type = LLVMType(INTEGERS_BY_WIDTH[min(self.element_size, 8)])
        for half in range(2 if self.element_size == 16 else 1):
            offset = self.constant(8 * half, I64)
            y_slot = StackSlot(self.byte_pointer(target, offset), element_type)
            self.store(y_slot, self.load(StackSlot(self.byte_pointer(source, offset), element_type)))

    def record_error(self, index_offset: LLVMValue, target: str, count: LLVMValue) -> None:
        mark = index_offset + 1
        self.lines.append(f" atomicrmw max ptr {self.status}, {mark} monotonic, align 8")
        if self.side == "x":
            self.emit_fill(self.constant(0, LLVMType("i8")), target, count)
