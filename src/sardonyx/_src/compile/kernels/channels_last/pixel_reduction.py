"""Reduction over all pixels of a channels-last image, one vector of channels at a time.

Loop nest: blocks of pixels -> groups of `pixel_unroll` pixels -> one accumulator vector for each pixel of the group.
Several accumulators hide the latency of the additions.  Summing in blocks bounds the rounding error, as pairwise summation
does: an element is part of about `summation_block` / `pixel_unroll` additions, and then of one addition for each later block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import i64, load_vector, vector_type
from sardonyx._src.compile.kernels.tuning import ChannelsLastTuning
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known

BinaryOperation: TypeAlias = Callable[[LLVMValue, LLVMValue], LLVMValue]


@dataclass(frozen=True, slots=True)
class ReductionSlots:
    """The stack slots of a reduction: `pixel_unroll` accumulators, and the total of the blocks."""

    accumulators: tuple[MemoryLocation, ...]
    total: MemoryLocation


@dataclass(frozen=True, slots=True)
class PixelRange:
    """Pixels to reduce: the address of a channel of the first pixel, the number of pixels, and their stride in floats."""

    address: str
    count: LLVMValue
    stride: LLVMValue


def reduction_channel_block(pixels: Known) -> int:
    """Channels of a unit of work, by the number of pixels of an image."""
    is_small = isinstance(pixels, int) and pixels < ChannelsLastTuning.small_image_pixels
    return ChannelsLastTuning.small_image_channels if is_small else ChannelsLastTuning.reduced_channels


def new_reduction_slots(b: KernelBuilder) -> ReductionSlots:
    accumulators = tuple(b.new_slot("strand", vector_type(b)) for _ in range(ChannelsLastTuning.pixel_unroll))
    return ReductionSlots(accumulators, b.new_slot("total", vector_type(b)))


def reduce_pixels(
    b: KernelBuilder,
    slots: ReductionSlots,
    pixels: PixelRange,
    mask: LLVMValue | None,
    accumulate: BinaryOperation,
    combine: BinaryOperation,
    identity: float = 0.0,
) -> LLVMValue:
    """The reduction of a vector of channels over all pixels.

    accumulate: the new accumulator, given (accumulator, vector of a pixel).
    combine: one accumulator, given two.
    identity: the initial value of accumulators.
    """
    initial = b.constant(identity, vector_type(b))
    b.store(slots.total, initial)
    block = ChannelsLastTuning.summation_block
    with b.loop(i64(b, 0), pixels.count + (block - 1), block, "chunk") as first:
        end = b.min(first + block, pixels.count)
        for slot in slots.accumulators:
            b.store(slot, initial)
        with b.loop(first, end, ChannelsLastTuning.pixel_unroll, "pixel") as pixel:
            for i, slot in enumerate(slots.accumulators):
                x = load_vector(b, b.gep(pixels.address, (pixel + i) * pixels.stride), mask)
                b.store(slot, accumulate(b.load(slot), x))
        with b.loop(pixel, end, name="pixel") as pixel:
            x = load_vector(b, b.gep(pixels.address, (pixel + 0) * pixels.stride), mask)
            b.store(slots.accumulators[0], accumulate(b.load(slots.accumulators[0]), x))
        s, t, u, v = (b.load(slot) for slot in slots.accumulators)
        b.store(slots.total, combine(b.load(slots.total), combine(combine(s, t), combine(u, v))))
    return b.load(slots.total)


def sum_pixels(
    b: KernelBuilder, slots: ReductionSlots, pixels: PixelRange, mask: LLVMValue | None
) -> LLVMValue:
    """The sum of all pixels, for each lane."""
    return reduce_pixels(b, slots, pixels, mask, add, add)


def sum_lanes(b: KernelBuilder, value: LLVMValue) -> LLVMValue:
    """The sum of all lanes, in every lane: the halves of the vector are added, in a fixed order, until one lane is left."""
    while value.type.lanes > 1:
        half = value.type.lanes // 2
        value = extract_lanes(b, value, half, 0) + extract_lanes(b, value, half, half)
    return b.splat(value, b.target.lanes)


def extract_lanes(b: KernelBuilder, value: LLVMValue, lanes: int, start: int) -> LLVMValue:
    """The subvector of `lanes` lanes from `start` on."""
    part_type = LLVMType(value.type.element, lanes)
    if lanes == 1:
        return b.emit(part_type, f"extractelement {value}, i64 {start}")
    indices = ", ".join(f"i32 {start + i}" for i in range(lanes))
    return b.emit(part_type, f"shufflevector {value}, {value.type} poison, <{lanes} x i32> <{indices}>")


def add(x: LLVMValue, y: LLVMValue) -> LLVMValue:
    return x + y
