"""Inline memcpy and fill: copies of byte ranges, and stores of one element over and over, for any length.

The length is only known at run time.  Full vectors are copied in unrolled loops; the last vector overlaps the one before.  A
range shorter than a vector is copied as two overlapping parts of a power of two bytes.  So no loop over bytes is needed.
Offsets are in bytes.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, Element, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.tuning import tuning_for

INTEGERS_BY_WIDTH: dict[int, Element] = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}  # by bytes


def byte_pointer(b: KernelBuilder, base: str, offset: LLVMValue) -> str:
    """The name of the pointer `offset` bytes after a base."""
    return b.gep(base, offset, "i8")


def byte_slot(b: KernelBuilder, base: str, offset: LLVMValue, llvm_type: LLVMType) -> MemoryLocation:
    """The memory location `offset` bytes after a base."""
    return MemoryLocation(byte_pointer(b, base, offset), llvm_type)


def emit_memcpy(b: KernelBuilder, source: str, target: str, count: LLVMValue) -> None:
    """Copies `count` bytes between ranges that do not overlap."""
    width, unroll = b.target.lanes * 4, tuning_for(b.target).data_movement.memcpy_unroll
    with b.loop(b.constant(0, I64), count, unroll * width) as i:
        copy_vectors(b, source, target, i, width, unroll)
    with b.loop(i, count, width) as i:
        copy_vectors(b, source, target, i, width)
    has_vector = count >= width
    with b.if_then((i < count) & has_vector):
        copy_vectors(b, source, target, count - width, width)
    with b.if_then(has_vector.eq(0)):
        copy_short(b, source, target, count, width)


def copy_vectors(
    b: KernelBuilder, source: str, target: str, i: LLVMValue, width: int, vectors: int = 1
) -> None:
    """Copies vectors of `width` bytes from byte i on; all of them are loaded first."""
    vector_type = LLVMType("i8", width)
    values = [b.load(byte_slot(b, source, i + v * width, vector_type)) for v in range(vectors)]
    for v, value in enumerate(values):
        b.store(byte_slot(b, target, i + v * width, vector_type), value)


def copy_short(b: KernelBuilder, source: str, target: str, count: LLVMValue, width: int) -> None:
    """Copies fewer than `width` bytes: for size <= count < 2 * size, the first and the last `size` bytes."""
    size = width // 2
    while size:
        with b.if_then((count >= size) & (count < 2 * size)):
            half, offsets = LLVMType("i8", size), [b.constant(0, I64), count - size]
            values = [b.load(byte_slot(b, source, i, half)) for i in offsets]
            for i, value in zip(offsets, values, strict=True):
                b.store(byte_slot(b, target, i, half), value)
        size //= 2


def emit_fill(b: KernelBuilder, value: LLVMValue, target: str, count: LLVMValue) -> None:
    """Stores a scalar to `count` consecutive elements."""
    width = value.type.bits // 8
    lanes = max(b.target.lanes * 4 // width, 1)
    vector, unroll = b.splat(value, lanes), tuning_for(b.target).data_movement.memcpy_unroll
    with b.loop(b.constant(0, I64), count, unroll * lanes) as i:
        fill_vectors(b, vector, target, i, width, unroll)
    with b.loop(i, count, lanes) as i:
        fill_vectors(b, vector, target, i, width)
    if lanes > 1:
        with b.loop(i, count) as i:
            b.store(byte_slot(b, target, i * width, value.type), value)


def fill_vectors(
    b: KernelBuilder, vector: LLVMValue, target: str, i: LLVMValue, width: int, vectors: int = 1
) -> None:
    """Stores a vector repeatedly, from element i of `width` bytes on."""
    for v in range(vectors):
        b.store(byte_slot(b, target, (i + v * vector.type.lanes) * width, vector.type), vector)
