"""Instance and group normalisation of channels-last images.

y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with x, y: [N, H, W, C] and scale, bias: [C].

Three passes over the pixels: the mean, the variance and the result.  The variance is the mean of the squared deviations,
since the difference E[x^2] - E[x]^2 would lose all digits to cancellation where the mean is large.
A unit of work is a block of channels of an image, each with statistics of its own (instance normalisation), or a group of
channels of an image, which share their statistics (group normalisation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import pixel_stride, tensor_arguments
from sardonyx._src.compile.kernels.channels_last.pixel_reduction import (
    PixelReductionEmitter,
    reduction_channel_block,
)
from sardonyx._src.compile.kernels.epilogue import Epilogue, operand_arguments
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known, ceil_div

ChannelSum: TypeAlias = "Callable[[LLVMValue, LLVMValue | None], LLVMValue]"


def channels_last_norm_step(
    x: TensorView,
    scale: TensorView,
    bias: TensorView,
    y: TensorView,
    epsilon: float,
    groups: int | None = None,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """The normalisation of x [N, H, W, C] into y of the same shape; scale, bias: [C].

    groups: the number of groups of channels, which divides C; None for instance normalisation.
    """
    epilogue = epilogue or Epilogue()
    epilogue_arguments = operand_arguments(epilogue, operands)
    n, height, width, channels = x.shape
    block = (
        reduction_channel_block(height * width) if groups is None else channels_per_group(channels, groups)
    )
    blocks = ceil_div(channels, block) if groups is None else groups
    assert blocks is not None, f"dims must be known; got {x}"

    def source(name: str, target: Target) -> str:
        emitter = ChannelsLastInstanceNormEmitter if groups is None else ChannelsLastGroupNormEmitter
        return emitter(target, epilogue, epsilon).build_module(name)

    kind = "instance" if groups is None else "group"
    sizes = (pixel_stride(x), pixel_stride(y), height * width, channels, block, blocks)
    return Step(
        kernel=Kernel(f"normalize_f32:{kind}:{epsilon!r}:{epilogue.key}", source),
        args=(x, y, scale, bias, *sizes, *epilogue_arguments),
        units=n * blocks,
        reads=(x, scale, bias, *tensor_arguments(epilogue_arguments)),
        writes=(y,),
        flops=x.num_elements * 7,
        bytes_accessed=x.nbytes * 3 + y.nbytes,
        nodes=nodes,
    )


def channels_per_group(channels: Known, groups: int) -> Known:
    assert not isinstance(channels, int) or channels % groups == 0, (
        f"channels must be a multiple of groups; got {channels} channels in {groups} groups"
    )
    return channels // groups


class ChannelsLastInstanceNormEmitter(PixelReductionEmitter):
    """Emits instance normalisation: every lane has the statistics of its own channel.

    args: x, y, scale, bias, the pixel strides of x and y, pixels of an image, channels, channels of a block, blocks, the
    epilogue's.
    """

    def __init__(self, target: Target, epilogue: Epilogue, epsilon: float) -> None:
        super().__init__(target, epilogue)
        self.epsilon = epsilon
        self.x, self.y, self.scale, self.bias = (self.pointer_argument(i) for i in range(4))
        self.x_pixel_stride, self.y_pixel_stride, self.pixels, self.channels, self.block, self.blocks = (
            self.size_argument(i) for i in range(4, 10)
        )
        self.load_operands(10)
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_unit, "unit")

    def emit_unit(self, unit: LLVMValue) -> None:
        self.image, block = self.udivmod(unit, self.blocks)
        self.first_pixel = self.image * self.pixels
        begin = block * self.block
        self.emit_block(begin, self.min(begin + self.block, self.channels))

    def emit_block(self, begin: LLVMValue, end: LLVMValue) -> None:
        """The channels [begin, end) of an image."""

        def emit_vector(channel: LLVMValue, mask: LLVMValue | None) -> None:
            mean = self.sum_channel(channel, mask) / self.splat_count(self.pixels)
            variance = self.sum_squared_deviations(channel, mask, mean) / self.splat_count(self.pixels)
            self.normalise_pixels(channel, mask, mean, self.inverse_deviation(variance))

        self.loop_channels(begin, end, emit_vector)

    def splat_count(self, elements: LLVMValue) -> LLVMValue:
        """A number of elements as a float in every lane."""
        return self.splat(elements.convert("sitofp", "float"), self.lanes)

    def inverse_deviation(self, variance: LLVMValue) -> LLVMValue:
        return 1 / self.call_intrinsic("sqrt", variance + self.epsilon)

    def channel_address(self, channel: LLVMValue) -> str:
        """The address of a channel in the first pixel of the image."""
        return self.gep(self.x, self.first_pixel * self.x_pixel_stride + channel)

    def sum_channel(self, channel: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        """The sums over all pixels, for a vector of channels."""
        return self.sum_pixels(self.channel_address(channel), self.pixels, self.x_pixel_stride, mask)

    def sum_squared_deviations(
        self, channel: LLVMValue, mask: LLVMValue | None, mean: LLVMValue
    ) -> LLVMValue:
        """The sums of (x - mean)^2 over all pixels; 0 in lanes outside the mask."""

        def accumulate(total: LLVMValue, x: LLVMValue) -> LLVMValue:
            return self.fma(x - mean, x - mean, total)

        total = self.reduce_pixels(
            self.channel_address(channel),
            self.pixels,
            self.x_pixel_stride,
            mask,
            accumulate,
            lambda a, b: a + b,
        )
        return total if mask is None else self.select(mask, total, self.constant(0.0, self.vector_type))

    def normalise_pixels(
        self, channel: LLVMValue, mask: LLVMValue | None, mean: LLVMValue, inverse_deviation: LLVMValue
    ) -> None:
        """Third pass: normalises all pixels for a vector of channels."""
        factor = inverse_deviation * self.load_vector(self.gep(self.scale, channel), mask)
        shift = self.load_vector(self.gep(self.bias, channel), mask)

        def store_pixel(index: LLVMValue) -> None:
            pixel = self.first_pixel + index
            x = self.load_vector(self.gep(self.x, pixel * self.x_pixel_stride + channel), mask)
            value = self.apply_epilogue(self.fma(x - mean, factor, shift), pixel, channel, mask)
            self.store_vector(value, self.gep(self.y, pixel * self.y_pixel_stride + channel), mask)

        self.loop_call(self.zero, self.pixels, 1, store_pixel, "pixel")


class ChannelsLastGroupNormEmitter(ChannelsLastInstanceNormEmitter):
    """Emits group normalisation: the statistics of all channels of a block, which is a group, in every lane."""

    def emit_block(self, begin: LLVMValue, end: LLVMValue) -> None:
        slot = self.new_slot("sum", self.vector_type)
        count = self.splat_count(self.pixels * self.block)
        mean = self.sum_group(slot, begin, end, self.sum_channel) / count

        def sum_squares(channel: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
            return self.sum_squared_deviations(channel, mask, mean)

        variance = self.sum_group(slot, begin, end, sum_squares) / count
        inverse_deviation = self.inverse_deviation(variance)
        self.loop_channels(
            begin,
            end,
            lambda channel, mask: self.normalise_pixels(channel, mask, mean, inverse_deviation),
        )

    def sum_group(
        self, slot: StackSlot, begin: LLVMValue, end: LLVMValue, channel_sum: ChannelSum
    ) -> LLVMValue:
        """The sum of `channel_sum` over the channels of a group, in every lane."""
        self.store(slot, self.constant(0.0, self.vector_type))
        self.loop_channels(
            begin, end, lambda channel, mask: self.store(slot, self.load(slot) + channel_sum(channel, mask))
        )
        return self.sum_lanes(self.load(slot))
