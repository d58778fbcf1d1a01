"""Float32 vectors of the target's register width: masked accesses at the end of a row, loops, shuffles and reductions.

Functions of a kernel's builder `b`; a vector has `b.target.lanes` lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.masked_lanes import prefix_mask, shuffle

MASK_REGISTER_LANES = 16  # lanes of targets (AVX-512) with mask registers, where masked accesses cost nothing


def vector_type(b: KernelBuilder) -> LLVMType:
    return LLVMType("float", b.target.lanes)


def i64(b: KernelBuilder, value: int) -> LLVMValue:
    return b.constant(value, I64)


def urem(b: KernelBuilder, dividend: LLVMValue, divisor: LLVMValue) -> LLVMValue:
    """dividend % divisor of integers dividend >= 0, divisor > 0."""
    return b.emit(I64, f"urem {dividend}, {divisor.name}")


def zeros(b: KernelBuilder) -> LLVMValue:
    return b.constant(0.0, vector_type(b))


# --- memory ----------------------------------------------------------------------------------


def first_lanes(b: KernelBuilder, count: LLVMValue) -> LLVMValue:
    """The mask of the first `count` lanes."""
    return prefix_mask(b, count, b.target.lanes)


def load_splat(b: KernelBuilder, address: str) -> LLVMValue:
    """The float at an address in every lane (a broadcast load)."""
    return b.splat(b.load(StackSlot(address, LLVMType("float"))), b.target.lanes)


def load_vector(
    b: KernelBuilder, address: str, mask: LLVMValue | None = None, element: Element = "float"
) -> LLVMValue:
    """The vector at an address; lanes outside of the mask are not read, and 0."""
    memory = StackSlot(address, LLVMType(element, b.target.lanes))
    if mask is None:
        return b.load(memory)
    if b.target.lanes > 1:
        return b.masked_load(mask, memory)
    slot = b.new_slot("loaded", memory.type)
    b.store(slot, b.constant(0, memory.type))
    with b.if_then(mask):
        b.store(slot, b.load(memory))
    return b.load(slot)


def store_vector(b: KernelBuilder, value: LLVMValue, address: str, mask: LLVMValue | None = None) -> None:
    """Stores a vector at an address; memory of lanes outside of the mask is not written."""
    memory = StackSlot(address, vector_type(b))
    if mask is None:
        b.store(memory, value)
    elif b.target.lanes > 1:
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
    """A loop over the blocks of `step` in 0..count: the start of each; the last block may be partial."""
    return b.loop(i64(b, 0), count + (step - 1), step, name)


def loop_vectors(b: KernelBuilder, count: LLVMValue) -> Iterator[tuple[LLVMValue, LLVMValue | None]]:
    """A loop over the vectors of a row of `count` floats: `for i, mask in loop_vectors(b, count):`.

    The body is emitted for whole vectors, whose mask is None, and for a partial last one.
    """
    lanes = b.target.lanes
    with b.loop(i64(b, 0), count, lanes, "vector") as i:
        yield i, None
    if lanes > 1:
        with b.if_then(i < count):
            yield i, first_lanes(b, count - i)


def loop_masked_vectors(b: KernelBuilder, count: LLVMValue) -> Iterator[tuple[LLVMValue, LLVMValue | None]]:
    """`loop_vectors`, but on targets where masks cost nothing every vector is masked, which is less code."""
    lanes = b.target.lanes
    if lanes < MASK_REGISTER_LANES:
        yield from loop_vectors(b, count)
        return
    with b.loop(i64(b, 0), count + (lanes - 1), lanes, "vector") as i:
        yield i, first_lanes(b, count - i)


# --- lanes -----------------------------------------------------------------------------------


def exchange_lanes(
    b: KernelBuilder, even: LLVMValue, odd: LLVMValue, distance: int
) -> tuple[LLVMValue, LLVMValue]:
    """Swaps the odd runs of `distance` lanes of one vector with the even runs of another.

    One butterfly of a transposition.
    """
    lanes = b.target.lanes
    low = [lanes + j - distance if j & distance else j for j in range(lanes)]
    high = [lanes + j if j & distance else j + distance for j in range(lanes)]
    return shuffle(b, even, odd, low), shuffle(b, even, odd, high)


def transpose(b: KernelBuilder, rows: list[LLVMValue]) -> list[LLVMValue]:
    """Transposes a square of `lanes` vectors, in log2(lanes) rounds of butterflies."""
    rows, distance = list(rows), 1
    while distance < b.target.lanes:
        for i in range(b.target.lanes):
            if i & distance == 0:
                rows[i], rows[i + distance] = exchange_lanes(b, rows[i], rows[i + distance], distance)
        distance *= 2
    return rows


def sum_each(b: KernelBuilder, rows: list[LLVMValue]) -> LLVMValue:
    """The sum of each of `lanes` vectors, in one vector: lane i is the sum of row i."""
    distance = 1
    while len(rows) > 1:
        pairs = [exchange_lanes(b, *pair, distance) for pair in zip(rows[::2], rows[1::2], strict=True)]
        rows = [low + high for low, high in pairs]
        distance *= 2
    return rows[0]


def reduce_lanes(b: KernelBuilder, op: str, value: LLVMValue) -> LLVMValue:
    """Reduces the lanes of a vector by an operation, in log2(lanes) steps; the result is in every lane."""
    distance = b.target.lanes // 2
    while distance:
        value = b.emit_operation(op, value, swap_lanes(b, value, distance))
        distance //= 2
    return value


def swap_lanes(b: KernelBuilder, value: LLVMValue, distance: int) -> LLVMValue:
    """Swaps each lane with the one whose number differs in the bit `distance`."""
    return shuffle(b, value, value, [i ^ distance for i in range(b.target.lanes)])
