"""Inline memcpy and fill: copies of byte ranges, and stores of one element over and over, for any length.

The length is known at run time only.  Full vectors are copied in unrolled loops; the last vector overlaps the one before,
and ranges shorter than a vector are copied as two overlapping halves of a power of two, so that no byte loop is needed.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.strided_loops import StridedLoopEmitter

INTEGERS_BY_WIDTH: dict[int, Element] = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}  # by bytes
MEMCPY_UNROLL = 4  # vectors of an iteration


class MemcpyEmitter(StridedLoopEmitter):
    """Emits a kernel that moves elements without interpreting them; offsets are in bytes."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.byte_vector = LLVMType("i8", target.lanes * 4)

    def byte_pointer(self, base: str, offset: LLVMValue) -> str:
        """The name of the pointer `offset` bytes after a base."""
        return self.gep(base, offset, "i8")

    def emit_memcpy(self, source: str, target: str, count: LLVMValue) -> None:
        """Copies `count` bytes between ranges that do not overlap."""
        width = self.byte_vector.lanes

        def copy_vectors(vectors: int, i: LLVMValue) -> None:
            values = [
                self.load(StackSlot(self.byte_pointer(source, i + v * width), self.byte_vector))
                for v in range(vectors)
            ]
            for v, value in enumerate(values):
                self.store(StackSlot(self.byte_pointer(target, i + v * width), self.byte_vector), value)

        unrolled = MEMCPY_UNROLL * width
        done = self.loop_call(
            self.constant(0, I64), count, unrolled, lambda i: copy_vectors(MEMCPY_UNROLL, i)
        )
        done = self.loop_call(done, count, width, lambda i: copy_vectors(1, i))
        has_vector = count >= width
        self.if_then_call((done < count) & has_vector, lambda: copy_vectors(1, count - width))
        self.if_then_call(has_vector.eq(0), lambda: self._copy_short(source, target, count))

    def _copy_short(self, source: str, target: str, count: LLVMValue) -> None:
        """Copies fewer bytes than a vector: for size <= count < 2 * size, the first and the last `size` bytes."""
        size = self.byte_vector.lanes // 2
        while size:
            half_type = LLVMType("i8", size)

            def copy_halves(llvm_type: LLVMType = half_type) -> None:
                offsets = [self.constant(0, I64), count - llvm_type.lanes]
                values = [self.load(StackSlot(self.byte_pointer(source, i), llvm_type)) for i in offsets]
                for i, value in zip(offsets, values, strict=True):
                    self.store(StackSlot(self.byte_pointer(target, i), llvm_type), value)

            self.if_then_call((count >= size) & (count < 2 * size), copy_halves)
            size //= 2

    def emit_fill(self, value: LLVMValue, target: str, count: LLVMValue) -> None:
        """Stores a scalar to `count` consecutive elements."""
        width = next(size for size, element in INTEGERS_BY_WIDTH.items() if element == value.type.element)
        lanes = max(self.byte_vector.lanes // width, 1)
        vector = self.splat(value, lanes)

        def fill_vectors(vectors: int, i: LLVMValue) -> None:
            for v in range(vectors):
                self.store(StackSlot(self.byte_pointer(target, (i + v * lanes) * width), vector.type), vector)

        def fill_element(i: LLVMValue) -> None:
            self.store(StackSlot(self.byte_pointer(target, i * width), value.type), value)

        unrolled = MEMCPY_UNROLL * lanes
        done = self.loop_call(
            self.constant(0, I64), count, unrolled, lambda i: fill_vectors(MEMCPY_UNROLL, i)
        )
        done = self.loop_call(done, count, lanes, lambda i: fill_vectors(1, i))
        if lanes > 1:
            self.loop_call(done, count, 1, fill_element)
