"""Global average and max pooling of channels-last images: the pixels of each image reduced to one.

A unit of work is a block of channels of one image, x [N, H, W, C] -> y [N, C]; `pixel_reduction` has the loops.
"""

from __future__ import annotations

import math
from typing import Literal

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
from sardonyx._src.ir.dims import ceil_div

GlobalPoolKind = Literal["mean", "max"]


def global_pooling_step(
    x: TensorView,
    y: TensorView,
    kind: GlobalPoolKind,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """Global pooling of x [N, H, W, C] into y [N, C] or [N, 1, 1, C].

    A NaN pixel makes the result NaN.  Of no pixels, the mean is NaN and the maximum minus infinity.
    """
    epilogue = epilogue or Epilogue()
    epilogue_arguments = operand_arguments(epilogue, operands)
    n, height, width, channels = x.shape
    block = reduction_channel_block(height * width)
    blocks = ceil_div(channels, block)
    assert blocks is not None, f"dims must be known; got {x}"

    def source(name: str, target: Target) -> str:
        return GlobalPoolingEmitter(target, epilogue, kind).build_module(name)

    sizes = (pixel_stride(x), pixel_stride(y), height * width, channels, block, blocks)
    return Step(
        kernel=Kernel(f"pool_all_f32:{kind}:{epilogue.key}", source),
        args=(x, y, *sizes, *epilogue_arguments),
        units=n * blocks,
        reads=(x, *tensor_arguments(epilogue_arguments)),
        writes=(y,),
        flops=x.num_elements,
        bytes_accessed=x.nbytes + y.nbytes,
        nodes=nodes,
    )


class GlobalPoolingEmitter(PixelReductionEmitter):
    """Emits global pooling.

    args: x, y, the pixel strides of x and y, pixels of an image, channels, channels of a block, blocks, the epilogue's.
    """

    def __init__(self, target: Target, epilogue: Epilogue, kind: GlobalPoolKind) -> None:
        super().__init__(target, epilogue)
        self.kind = kind
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)
        self.x_pixel_stride, self.y_pixel_stride, self.pixels, self.channels, self.block, self.blocks = (
            self.size_argument(i) for i in range(2, 8)
        )
        self.load_operands(8)
        self.inverse_count = self.splat(1 / self.pixels.convert("sitofp", "float"), self.lanes)
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_unit, "unit")

    def emit_unit(self, unit: LLVMValue) -> None:
        self.image, block = self.udivmod(unit, self.blocks)
        begin = block * self.block
        self.loop_channels(begin, self.min(begin + self.block, self.channels), self.emit_vector)

    def emit_vector(self, channel: LLVMValue, mask: LLVMValue | None) -> None:
        """The result of one image for a vector of channels."""
        base = self.gep(self.x, self.image * self.pixels * self.x_pixel_stride + channel)
        value = self.apply_epilogue(self.pool_pixels(base, mask), self.image, channel, mask)
        self.store_vector(value, self.gep(self.y, self.image * self.y_pixel_stride + channel), mask)

    def pool_pixels(self, base: str, mask: LLVMValue | None) -> LLVMValue:
        """The mean or maximum of all pixels; base: the address of the first."""
        if self.kind == "mean":
            return self.sum_pixels(base, self.pixels, self.x_pixel_stride, mask) * self.inverse_count
        maximum = self.nan_propagating_max
        return self.reduce_pixels(base, self.pixels, self.x_pixel_stride, mask, maximum, maximum, -math.inf)
