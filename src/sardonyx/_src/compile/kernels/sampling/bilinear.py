"""Bilinear interpolation of a point of a channels-last image: the four pixels around it, its *corners*, times their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.codegen import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import load_typed, loop_vectors
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SampledImage:
    """An image [height, width, channels] in memory: pixels are `pixel_stride` elements apart, channels adjacent."""

    address: str
    height: LLVMValue
    width: LLVMValue
    pixel_stride: LLVMValue
    element: LLVMType


@dataclass(frozen=True, slots=True)
class Neighbor:
    """One of the two pixels beside a point along an axis; index: the index of the pixel, 0 if it is outside the image."""

    index: LLVMValue
    is_inside: LLVMValue
    weight: LLVMValue


@dataclass(frozen=True, slots=True)
class Corner:
    """A pixel beside a point: the offset of its channels, whether it is inside the image, and its weight."""

    offset: LLVMValue
    is_inside: LLVMValue
    weight: LLVMValue


def neighbors(b: KernelBuilder, position: LLVMValue, size: LLVMValue) -> tuple[Neighbor, Neighbor]:
    """The two pixels around a position, where pixel i has the position i; the weights are NaN for infinity and NaN."""
    first = b.call_intrinsic("floor", position)
    fraction = position - first
    end = size.convert("sitofp", position.type.element)
    return (
        neighbor(b, first, 1 - fraction, end),
        neighbor(b, first + 1, fraction, end),
    )


def neighbor(b: KernelBuilder, position: LLVMValue, weight: LLVMValue, end: LLVMValue) -> Neighbor:
    is_inside = (position >= 0) & (position < end)
    inside_position = b.select(is_inside, position, b.constant(0, position.type))
    return Neighbor(inside_position.convert("fptosi", "i64"), is_inside, weight)


def corners(image: SampledImage, rows: Sequence[Neighbor], columns: Sequence[Neighbor]) -> Iterator[Corner]:
    """The four pixels around a point, from its neighbors along each axis; weights get the type of the image's elements."""
    for row in rows:
        for column in columns:
            offset = (row.index * image.width + column.index) * image.pixel_stride
            weight = row.weight * column.weight
            if weight.type != image.element:
                weight = weight.convert("fptrunc", image.element.element)
            yield Corner(offset, row.is_inside & column.is_inside, weight)


def loop_weighted_pixels(
    b: KernelBuilder, image: SampledImage, pixels: Sequence[Corner], channels: LLVMValue
) -> Iterator[tuple[LLVMValue, LLVMValue | None, list[LLVMValue]]]:
    """A loop over vectors of channels: yields the first channel, the mask, and each corner's pixel times its weight.

    A pixel outside of the image is 0, and not read.
    """
    element = image.element
    lanes = b.target.lanes
    vector = LLVMType(element.element, lanes)
    slots = [b.new_slot("pixel", vector) for _ in pixels]
    for channel, mask in loop_vectors(b, 0, channels, lanes):
        for corner, slot in zip(pixels, slots, strict=True):
            b.store(slot, b.constant(0, vector))
            with b.if_then(corner.is_inside):
                address = b.gep(image.address, corner.offset + channel, element.element)
                b.store(slot, load_typed(b, vector, address, mask))
        yield (
            channel,
            mask,
            [
                b.load(slot) * b.splat(corner.weight, lanes)
                for corner, slot in zip(pixels, slots, strict=True)
            ],
        )
