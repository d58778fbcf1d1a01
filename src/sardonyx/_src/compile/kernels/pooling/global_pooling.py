"""Global average and max pooling of channels-last images: the pixels of each image reduced to one.

x [N, H, W, C] -> y [N, C].  A unit of work is a block of channels of one image.  Loop nest: vectors of channels -> pixels
(`pixel_reduction`).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

from sardonyx._src.compile.codegen import LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import (
    image_arguments,
    load_output,
    nan_propagating_max,
    store_result,
)
from sardonyx._src.compile.kernels.channels_last.pixel_reduction import (
    PixelRange,
    ReductionSlots,
    new_reduction_slots,
    reduce_pixels,
    reduction_channel_block,
    sum_pixels,
)
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
)
from sardonyx._src.compile.kernels.loops.vectors import loop_vectors
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.ir.dims import ceil_div

GlobalPoolKind = Literal["mean", "max"]
GLOBAL_POOLING_SIZES = ("x_pixel_stride", "y_pixel_stride", "pixels", "channels", "channel_block", "blocks")
GLOBAL_POOLING_PARAMETERS = Parameters("x", "y", *GLOBAL_POOLING_SIZES)


def global_pooling_step(
    x: TensorView,
    y: TensorView,
    kind: GlobalPoolKind,
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """Global pooling of x [N, H, W, C] into y [N, C] or [N, 1, 1, C].

    A NaN pixel makes the result NaN.  If there are no pixels, the mean is NaN and the maximum is minus infinity.
    """
    n, height, width, channels = x.shape
    block = reduction_channel_block(height * width)
    blocks = ceil_div(channels, block)
    assert blocks is not None, f"dims must be known; got {x}"
    parameters = GLOBAL_POOLING_PARAMETERS + epilogue_parameters(epilogue)
    source = partial(global_pooling_module, epilogue=epilogue, kind=kind)
    return Step(
        kernel=Kernel(f"pool_all_f32:{kind}:{epilogue.key}", source, parameters),
        args=parameters.pack(
            **image_arguments(x, y),
            pixels=height * width,
            channels=channels,
            channel_block=block,
            blocks=blocks,
            **epilogue_arguments(epilogue, operands),
        ),
        units=n * blocks,
        reads=(x, *operands),
        writes=(y,),
        flops=x.num_elements,
        bytes_accessed=x.nbytes + y.nbytes,
    )


def global_pooling_module(name: str, target: Target, epilogue: Epilogue, kind: GlobalPoolKind) -> str:
    """The LLVM module of the kernel."""
    b = KernelBuilder(target, GLOBAL_POOLING_PARAMETERS + epilogue_parameters(epilogue))
    slots = new_reduction_slots(b)
    x, y_address = b.pointers("x", "y")
    x_pixel_stride, y_pixel_stride, pixels, channels, channel_block, blocks = map(
        b.integer, GLOBAL_POOLING_SIZES
    )
    y = load_output(b, y_address, y_pixel_stride, epilogue)
    inverse_count = b.splat(1 / pixels.convert("sitofp", "float"), target.lanes)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        image, block = b.udivmod(unit, blocks)
        first = block * channel_block
        for channel, mask in loop_vectors(b, first, b.min(first + channel_block, channels)):
            address = b.gep(x, image * pixels * x_pixel_stride + channel)
            image_pixels = PixelRange(address, pixels, x_pixel_stride)
            if kind == "mean":
                value = sum_pixels(b, slots, image_pixels, mask) * inverse_count
            else:
                value = max_pixels(b, slots, image_pixels, mask)
            store_result(b, y, value, image, channel, mask)
    return b.build_module(name)


def max_pixels(
    b: KernelBuilder, slots: ReductionSlots, pixels: PixelRange, mask: LLVMValue | None
) -> LLVMValue:
    """The maximum of all pixels, for each lane."""
    maximum = partial(nan_propagating_max, b)
    return reduce_pixels(b, slots, pixels, mask, maximum, maximum, -math.inf)
