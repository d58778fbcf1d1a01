"""Reduction over all pixels of a channels-last image, one vector of channels at a time.

Loop nest: blocks of pixels -> groups of PIXEL_UNROLL pixels -> one accumulator vector for each pixel of the group.
Several accumulators hide the latency of the additions; summing in blocks bounds the rounding error, as pairwise summation
does: an element takes part in about SUMMATION_BLOCK / PIXEL_UNROLL additions, and then one for each later block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import ChannelsLastEmitter
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.ir.dims import Known

BinaryOperation: TypeAlias = Callable[[LLVMValue, LLVMValue], LLVMValue]
PIXEL_UNROLL = 4  # pixels of an iteration, each with an accumulator of its own
SUMMATION_BLOCK = 512  # pixels reduced before they are combined with the total


def reduction_channel_block(pixels: Known) -> int:
    """Channels of a unit of work: one cache line (16 floats), or four lines where images have few pixels."""
    return 64 if isinstance(pixels, int) and pixels < 1024 else 16


class PixelReductionEmitter(ChannelsLastEmitter):
    """Base of kernels that reduce the pixels of an image."""

    def __init__(self, target: Target, epilogue: Epilogue) -> None:
        super().__init__(target, epilogue)
        self.accumulators = [self.new_slot("strand", self.vector_type) for _ in range(PIXEL_UNROLL)]
        self.total = self.new_slot("total", self.vector_type)

    def reduce_pixels(
        self,
        base: str,
        pixels: LLVMValue,
        stride: LLVMValue,
        mask: LLVMValue | None,
        accumulate: BinaryOperation,
        combine: BinaryOperation,
        identity: float = 0.0,
    ) -> LLVMValue:
        """The reduction of `pixels` vectors, the first at `base`, `stride` floats apart.

        accumulate: an accumulator and one more vector.  combine: two accumulators.  identity: their initial value.
        """
        initial = self.constant(identity, self.vector_type)

        def accumulate_pixel(pixel: LLVMValue, i: int) -> None:
            slot = self.accumulators[i]
            x = self.load_vector(self.gep(base, (pixel + i) * stride), mask)
            self.store(slot, accumulate(self.load(slot), x))

        def accumulate_group(pixel: LLVMValue) -> None:
            for i in range(PIXEL_UNROLL):
                accumulate_pixel(pixel, i)

        def reduce_block(pixel: LLVMValue) -> None:
            end = self.min(pixel + SUMMATION_BLOCK, pixels)
            for slot in self.accumulators:
                self.store(slot, initial)
            remainder = self.loop_call(pixel, end, PIXEL_UNROLL, accumulate_group, "pixel")
            self.loop_call(remainder, end, 1, lambda p: accumulate_pixel(p, 0), "pixel")
            a, b, c, d = (self.load(slot) for slot in self.accumulators)
            self.store(self.total, combine(self.load(self.total), combine(combine(a, b), combine(c, d))))

        self.store(self.total, initial)
        self.loop_call(self.zero, pixels + (SUMMATION_BLOCK - 1), SUMMATION_BLOCK, reduce_block, "chunk")
        return self.load(self.total)

    def sum_pixels(
        self, base: str, pixels: LLVMValue, stride: LLVMValue, mask: LLVMValue | None
    ) -> LLVMValue:
        """The sum of all pixels, for each lane."""

        def add(a: LLVMValue, b: LLVMValue) -> LLVMValue:
            return a + b

        return self.reduce_pixels(base, pixels, stride, mask, add, add)

    def sum_lanes(self, value: LLVMValue) -> LLVMValue:
        """The sum of all lanes, in every lane; halves are added pairwise, in an order that is fixed."""
        while value.type.lanes > 1:
            half = value.type.lanes // 2
            value = self.extract_lanes(value, half, 0) + self.extract_lanes(value, half, half)
        return self.splat(value, self.lanes)

    def extract_lanes(self, value: LLVMValue, lanes: int, start: int) -> LLVMValue:
        """The subvector of `lanes` lanes from `start` on."""
        vector_type = LLVMType(value.type.element, lanes)
        if lanes == 1:
            return self.emit(vector_type, f"extractelement {value}, i64 {start}")
        indices = ", ".join(f"i32 {start + i}" for i in range(lanes))
        return self.emit(
            vector_type, f"shufflevector {value}, {value.type} poison, <{lanes} x i32> <{indices}>"
        )
