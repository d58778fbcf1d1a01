"""Transpose kernel: square blocks of elements are transposed in vector registers.

x is contiguous along the rows of y, and y along its columns:

    y[r, c] = x[c * x_stride + r],   stored at y + r * y_stride + c

Loop nest: units of work (several bands x TRANSPOSE_COLUMNS columns) -> bands of BAND_ROWS rows of y -> columns in steps
of `side` -> rows in steps of `side` -> a block [side, side] with `side` lanes per vector.  A block is transposed by
log2(side) stages of shuffles, which swap off-diagonal sub-blocks of 1, 2, 4, ... lanes (Eklundh's algorithm).
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH, MemcpyEmitter

TRANSPOSE_COLUMNS = 1024  # of y in a unit of work
BAND_ROWS = 16  # of y: the float32 elements of a cache line of x


class TransposeEmitter(MemcpyEmitter):
    """Emits a transpose of elements of `size` bytes.

    args: x, y, bands, bands per unit, columns, byte strides between the columns in x and between the rows in y, rows of
    all bands across, dims of the bands (byte strides of x, of y; strides of the number of a band's first row).
    """

    def __init__(self, target: Target, size: int, rank: int) -> None:
        super().__init__(target)
        self.element_type = LLVMType(INTEGERS_BY_WIDTH[size])
        self.size = size
        self.side = min(BAND_ROWS, max(16 if size == 1 else target.lanes * 4 // size, 1))
        self.line_type = LLVMType(self.element_type.element, self.side)
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)
        bands, unit_bands, columns, self.x_stride, self.y_stride, self.height = (
            self.size_argument(i) for i in range(2, 8)
        )
        dims = self.load_dims(8, rank, 3)

        def copy_unit(first: LLVMValue, end: LLVMValue, column: LLVMValue, count: LLVMValue) -> None:
            self.loop_rows(dims, first, end, lambda _, offsets: self.copy_band(offsets, column, count))

        self.loop_units(bands, unit_bands, columns, TRANSPOSE_COLUMNS, copy_unit)

    def copy_band(self, offsets: list[LLVMValue], column: LLVMValue, count: LLVMValue) -> None:
        """Copies `count` columns of the rows of a band from `column` on, block by block."""
        source = self.byte_pointer(self.x, offsets[0] + column * self.x_stride)
        target = self.byte_pointer(self.y, offsets[1] + column * self.size)
        rows = self.min(self.height - offsets[2], self.constant(BAND_ROWS, I64))

        def copy_blocks(c: LLVMValue) -> None:
            def copy_block(r: LLVMValue) -> None:
                self.copy_block(
                    self.x_pointer(source, r, c), self.y_pointer(target, r, c), rows - r, count - c
                )

            self.loop_call(self.constant(0, I64), rows + (self.side - 1), self.side, copy_block, "r")

        self.loop_call(self.constant(0, I64), count + (self.side - 1), self.side, copy_blocks, "column")

    def x_pointer(self, base: str, row: LLVMValue, column: LLVMValue) -> str:
        return self.byte_pointer(base, row * self.size + column * self.x_stride)

    def y_pointer(self, base: str, row: LLVMValue, column: LLVMValue) -> str:
        return self.byte_pointer(base, column * self.size + row * self.y_stride)

    def copy_block(self, source: str, target: str, rows: LLVMValue, columns: LLVMValue) -> None:
        """Copies a block, of which only `rows` x `columns` elements exist at the edges of a band."""
        if self.side == 1:
            self.store(StackSlot(target, self.element_type), self.load(StackSlot(source, self.element_type)))
            return
        is_full = (rows >= self.side) & (columns >= self.side)
        self.if_then_call(is_full, lambda: self.copy_full_block(source, target))
        copy_edge = self.copy_masked_block if self.size >= 4 else self.copy_elements
        self.if_then_call(is_full.eq(0), lambda: copy_edge(source, target, rows, columns))

    def copy_full_block(self, source: str, target: str) -> None:
        numbers = [self.constant(i, I64) for i in range(self.side)]
        lines = [
            self.load(StackSlot(self.byte_pointer(source, i * self.x_stride), self.line_type))
            for i in numbers
        ]
        for i, line in zip(numbers, self.transpose(lines), strict=True):
            self.store(StackSlot(self.byte_pointer(target, i * self.y_stride), self.line_type), line)

    def copy_masked_block(self, source: str, target: str, rows: LLVMValue, columns: LLVMValue) -> None:
        """Copies a partial block by masked loads and stores."""
        zero, numbers = self.constant(0, self.line_type), [self.constant(i, I64) for i in range(self.side)]
        slots = [self.new_slot("line", self.line_type) for _ in numbers]
        row_mask, column_mask = self.prefix_mask(rows, self.side), self.prefix_mask(columns, self.side)
        for i, slot in zip(numbers, slots, strict=True):
            self.store(slot, zero)

            def load_line(i: LLVMValue = i, slot: StackSlot = slot) -> None:
                address = self.byte_pointer(source, i * self.x_stride)
                self.store(slot, self.masked_load_or(address, row_mask, zero))

            self.if_then_call(i < columns, load_line)
        lines = self.transpose([self.load(slot) for slot in slots])
        for i, line in zip(numbers, lines, strict=True):

            def store_line(i: LLVMValue = i, line: LLVMValue = line) -> None:
                self.masked_store_at(line, self.byte_pointer(target, i * self.y_stride), column_mask)

            self.if_then_call(i < rows, store_line)

    def copy_elements(self, source: str, target: str, rows: LLVMValue, columns: LLVMValue) -> None:
        """Copies a partial block of elements that are too narrow for masked accesses, one by one."""
        side, zero = self.constant(self.side, I64), self.constant(0, I64)

        def copy_row(r: LLVMValue) -> None:
            def copy_element(c: LLVMValue) -> None:
                value = self.load(StackSlot(self.x_pointer(source, r, c), self.element_type))
                self.store(StackSlot(self.y_pointer(target, r, c), self.element_type), value)

            self.loop_call(zero, self.min(columns, side), 1, copy_element, "c")

        self.loop_call(zero, self.min(rows, side), 1, copy_row, "r")

    def transpose(self, lines: list[LLVMValue]) -> list[LLVMValue]:
        """Transposes a square block: lane i of vector j becomes lane j of vector i."""
        distance = 1
        while distance < len(lines):
            swapped = list(lines)
            for i in range(len(lines)):
                if not i & distance:
                    low, high = lines[i], lines[i + distance]
                    swapped[i] = self.interleave(low, high, distance, second=False)
                    swapped[i + distance] = self.interleave(low, high, distance, second=True)
            lines, distance = swapped, distance * 2
        return lines

    def interleave(self, low: LLVMValue, high: LLVMValue, distance: int, *, second: bool) -> LLVMValue:
        """Alternates groups of `distance` lanes of both vectors: their even groups, or the odd ones if `second`."""
        side, shift = self.side, distance if second else 0
        lanes = [(side + lane - distance if lane & distance else lane) + shift for lane in range(side)]
        return self.shuffle(low, high, lanes)
