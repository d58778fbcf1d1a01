"""SIMD vectors in memory: loads and stores with masks, and loops over the vectors of a range.

The functions emit code with the builder `b` of a kernel.  A vector has `b.target.lanes` lanes unless another type is given.
A mask is a vector [lanes] of i1, a scalar i1 if there is only one lane, or None for a whole vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

from sardonyx._src.compile.codegen import I64, Element, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.blocks import alignment
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder

MASK_REGISTER_LANES = 16  # lanes of targets (AVX-512) with mask registers, where masked accesses cost nothing


def vector_type(b: KernelBuilder) -> LLVMType:
    return LLVMType("float", b.target.lanes)


def zeros(b: KernelBuilder) -> LLVMValue:
    return b.constant(0.0, vector_type(b))


def i64(b: KernelBuilder, value: int) -> LLVMValue:
    return b.constant(value, I64)


def urem(b: KernelBuilder, dividend: LLVMValue, divisor: LLVMValue) -> LLVMValue:
    """dividend % divisor of integers dividend >= 0, divisor > 0."""
    return b.emit(I64, f"urem {dividend}, {divisor.name}")


def sdiv(b: KernelBuilder, dividend: LLVMValue, divisor: LLVMValue) -> LLVMValue:
    """dividend / divisor of integers, rounded towards 0."""
    return b.emit(I64, f"sdiv {dividend}, {divisor.name}")


# --- loads and stores ------------------------------------------------------------------------


def first_lanes(b: KernelBuilder, count: LLVMValue, lanes: int | None = None) -> LLVMValue:
    """The mask of the first `count` lanes: none of them if it is <= 0, all if it is >= lanes."""
    lanes = b.target.lanes if lanes is None else lanes
    return count > 0 if lanes == 1 else b.lane_mask(count, lanes)


def load_vector(
    b: KernelBuilder,
    address: str,
    mask: LLVMValue | None = None,
    masked_value: float = 0.0,
    element: Element = "float",
) -> LLVMValue:
    """Loads a vector; lanes outside the mask are `masked_value`, and their memory is not accessed."""
    return load_typed(b, LLVMType(element, b.target.lanes), address, mask, masked_value)


def load_typed(
    b: KernelBuilder,
    vector_type: LLVMType,
    address: str,
    mask: LLVMValue | None = None,
    masked_value: float = 0.0,
) -> LLVMValue:
    """`load_vector` for any vector type."""
    memory = MemoryLocation(address, vector_type)
    if mask is None:
        return b.load(memory)
    otherwise = b.constant(masked_value, vector_type)
    if vector_type.lanes == 1:
        return load_if(b, mask, memory, otherwise)
    name = f"@llvm.masked.load.{vector_type.suffix}.p0"
    b.declarations[f"declare {vector_type} {name}(ptr, i32 immarg, {mask.type}, {vector_type})"] = None
    pointer = f"ptr {address}, i32 {alignment(vector_type)}"
    return b.emit(vector_type, f"call {vector_type} {name}({pointer}, {mask}, {otherwise})")


def load_if(
    b: KernelBuilder, condition: LLVMValue, memory: MemoryLocation, otherwise: LLVMValue
) -> LLVMValue:
    """Loads a scalar if a condition holds; else the memory is not accessed, and the result is `otherwise`."""
    slot = b.new_slot("loaded", memory.type)
    b.store(slot, otherwise)
    with b.if_then(condition):
        b.store(slot, b.load(memory))
    return b.load(slot)


def load_window_vector(
    b: KernelBuilder, memory: MemoryLocation, mask: LLVMValue, otherwise: LLVMValue
) -> LLVMValue:
    """Loads a vector of a window, which mostly is inside or outside of an image as a whole; `otherwise` where the mask is not set.

    Where the target has no masks for bytes, and a masked load is a branch for each lane, only partial vectors are loaded so,
    to the stack.
    """
    vector_type = memory.type
    if vector_type.lanes == 1:
        return load_if(b, mask, memory, otherwise)
    if has_masks(vector_type):
        return b.select(mask, b.masked_load(mask, memory), otherwise)
    i1, copy = LLVMType("i1"), b.new_slot("copy", vector_type)
    is_whole = b.call_intrinsic("vector.reduce.and", mask, result_type=i1)
    with b.if_then(is_whole.eq(0)):
        b.store(copy, otherwise)
        with b.if_then(b.call_intrinsic("vector.reduce.or", mask, result_type=i1)):
            b.store(copy, b.select(mask, b.masked_load(mask, memory), otherwise))
    address = b.select_pointer(is_whole, memory.name, copy.name)
    return b.load(MemoryLocation(address, vector_type))


def has_masks(vector_type: LLVMType) -> bool:
    """Whether the part of a vector that a mask selects is loaded and stored without a branch for each lane.

    AVX-512 has masks for all elements, AVX2 for those of 32 bits; vectors of 4 lanes, which have none, count as those of AVX2.
    """
    return vector_type.lanes >= MASK_REGISTER_LANES or (vector_type.lanes > 1 and vector_type.bits == 32)


def load_splat(b: KernelBuilder, address: str) -> LLVMValue:
    """The float at an address in every lane (a broadcast load)."""
    return b.splat(b.load(MemoryLocation(address, LLVMType("float"))), b.target.lanes)


def store_vector(b: KernelBuilder, value: LLVMValue, address: str, mask: LLVMValue | None = None) -> None:
    """Stores a vector of any type; the memory of lanes outside the mask is not accessed."""
    memory = MemoryLocation(address, value.type)
    if mask is None:
        b.store(memory, value)
    elif value.type.lanes > 1:
        b.masked_store(mask, memory, value)
    else:
        with b.if_then(mask):
            b.store(memory, value)


def prefetch(b: KernelBuilder, address: str) -> None:
    """Prefetches a cache line into L1; the address need not be readable."""
    b.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
    b.lines.append(f" call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")


# --- loops -----------------------------------------------------------------------------------


def loop_blocks(
    b: KernelBuilder, count: LLVMValue, step: int, name: str
) -> AbstractContextManager[LLVMValue]:
    """A loop over [0, count) in blocks of `step` indices, which gives the first index of each; the last block may be partial."""
    return b.loop(i64(b, 0), count + (step - 1), step, name)


def loop_vectors(
    b: KernelBuilder, first: LLVMValue | int, end: LLVMValue, lanes: int | None = None
) -> Iterator[tuple[LLVMValue, LLVMValue | None]]:
    """A loop over the vectors of elements in [first, end): `for i, mask in loop_vectors(b, 0, count):`.

    It gives the first index and the mask of a vector.  The Python loop has two rounds, each of which emits the body: for
    whole vectors, with None as mask, and for a partial last vector, with its mask.  A single lane has no partial vectors.
    """
    lanes = b.target.lanes if lanes is None else lanes
    with b.loop(b.as_value(first, I64), end, lanes, "vector") as i:
        yield i, None
    if lanes > 1:
        with b.if_then(i < end):
            yield i, first_lanes(b, end - i, lanes)


def loop_masked_vectors(
    b: KernelBuilder, count: LLVMValue, lanes: int | None = None
) -> Iterator[tuple[LLVMValue, LLVMValue | None]]:
    """`loop_vectors` of [0, count).

    Where masks cost nothing, the body is emitted once, with a mask for all vectors, which is less code.
    """
    lanes = b.target.lanes if lanes is None else lanes
    if b.target.lanes < MASK_REGISTER_LANES:
        yield from loop_vectors(b, 0, count, lanes)
        return
    with b.loop(i64(b, 0), count + (lanes - 1), lanes, "vector") as i:
        yield i, first_lanes(b, count - i, lanes)
