"""Instance and group normalization of channels-last images.

y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with x, y: [N, H, W, C] and scale, bias: [C].

Three passes over the pixels: the mean, the variance and the result.  The variance is the mean of the squared deviations,
since the difference E[x^2] - E[x]^2 would lose all digits to cancellation where the mean is large.
A unit of work is a block of channels of an image, each channel with its own statistics (instance normalization), or a group
of channels of an image that share their statistics (group normalization).  Loop nest of a pass: vectors of channels ->
pixels (`pixel_reduction`).
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import (
    OutputImage,
    image_arguments,
    load_output,
    store_result,
)
from sardonyx._src.compile.kernels.channels_last.pixel_reduction import (
    PixelRange,
    ReductionSlots,
    add,
    new_reduction_slots,
    reduce_pixels,
    reduction_channel_block,
    sum_lanes,
    sum_pixels,
)
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
)
from sardonyx._src.compile.kernels.loops.vectors import i64, load_vector, loop_vectors, vector_type, zeros
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known, ceil_div

NORM_POINTERS = ("x", "y", "scale", "bias")
NORM_SIZES = ("x_pixel_stride", "y_pixel_stride", "pixels", "channels", "channel_block", "blocks")
NORM_PARAMETERS = Parameters(*NORM_POINTERS, *NORM_SIZES)


def channels_last_norm_step(
    x: TensorView,
    scale: TensorView,
    bias: TensorView,
    y: TensorView,
    epsilon: float,
    groups: int | None = None,
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """The normalization of x [N, H, W, C] into y of the same shape; scale, bias: [C].

    groups: the number of groups of channels, which divides C; None for instance normalization.
    """
    n, height, width, channels = x.shape
    block = (
        reduction_channel_block(height * width) if groups is None else channels_per_group(channels, groups)
    )
    blocks = ceil_div(channels, block) if groups is None else groups
    assert blocks is not None, f"dims must be known; got {x}"

    kind = "instance" if groups is None else "group"
    parameters = NORM_PARAMETERS + epilogue_parameters(epilogue)
    source = partial(
        channels_last_norm_module, epilogue=epilogue, epsilon=epsilon, is_grouped=groups is not None
    )
    return Step(
        kernel=Kernel(f"normalize_f32:{kind}:{epsilon!r}:{epilogue.key}", source, parameters),
        args=parameters.pack(
            **image_arguments(x, y),
            scale=scale,
            bias=bias,
            pixels=height * width,
            channels=channels,
            channel_block=block,
            blocks=blocks,
            **epilogue_arguments(epilogue, operands),
        ),
        units=n * blocks,
        reads=(x, scale, bias, *operands),
        writes=(y,),
        flops=x.num_elements * 7,
        bytes_accessed=x.nbytes * 3 + y.nbytes,
    )


def channels_per_group(channels: Known, groups: int) -> Known:
    assert not isinstance(channels, int) or channels % groups == 0, (
        f"channels must be a multiple of groups; got {channels} channels in {groups} groups"
    )
    return channels // groups


@dataclass(frozen=True, slots=True)
class NormImage:
    """One image that a kernel normalizes.

    x, scale, bias: the addresses of the operands.
    first_pixel, pixels: the number of the image's first pixel, and the number of its pixels.
    slots: the accumulators of its reductions.
    """

    x: str
    x_pixel_stride: LLVMValue
    y: OutputImage
    scale: str
    bias: str
    first_pixel: LLVMValue
    pixels: LLVMValue
    slots: ReductionSlots


def channels_last_norm_module(
    name: str, target: Target, epilogue: Epilogue, epsilon: float, *, is_grouped: bool
) -> str:
    """The LLVM module of instance normalization, or of group normalization, where a block of channels is a group."""
    b = KernelBuilder(target, NORM_PARAMETERS + epilogue_parameters(epilogue))
    slots = new_reduction_slots(b)
    x, y_address, scale, bias = b.pointers(*NORM_POINTERS)
    x_pixel_stride, y_pixel_stride, pixels, channels, channel_block, blocks = b.integers(*NORM_SIZES)
    y = load_output(b, y_address, y_pixel_stride, epilogue)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        number, block = b.udivmod(unit, blocks)
        image = NormImage(x, x_pixel_stride, y, scale, bias, number * pixels, pixels, slots)
        first = block * channel_block
        end = b.min(first + channel_block, channels)
        if is_grouped:
            normalize_group(b, image, first, end, pixels * channel_block, epsilon)
        else:
            normalize_channels(b, image, first, end, epsilon)
    return b.build_module(name)


def normalize_channels(
    b: KernelBuilder, image: NormImage, first: LLVMValue, end: LLVMValue, epsilon: float
) -> None:
    """Instance normalization of the channels [first, end): every lane has the statistics of its own channel."""
    for channel, mask in loop_vectors(b, first, end):
        total = sum_pixels(b, image.slots, image_pixels(b, image, channel), mask)
        mean = total / splat_count(b, image.pixels)
        squares = sum_squared_deviations(b, image, channel, mask, mean)
        variance = squares / splat_count(b, image.pixels)
        normalize_pixels(b, image, channel, mask, mean, inverse_deviation(b, variance, epsilon))


def normalize_group(
    b: KernelBuilder,
    image: NormImage,
    first: LLVMValue,
    end: LLVMValue,
    num_elements: LLVMValue,
    epsilon: float,
) -> None:
    """Group normalization of the channels [first, end), a group of `num_elements`: all lanes share its statistics."""
    total = b.new_slot("sum", vector_type(b))
    count = splat_count(b, num_elements)
    b.store(total, zeros(b))
    for channel, mask in loop_vectors(b, first, end):
        b.store(total, b.load(total) + sum_pixels(b, image.slots, image_pixels(b, image, channel), mask))
    mean = sum_lanes(b, b.load(total)) / count
    b.store(total, zeros(b))
    for channel, mask in loop_vectors(b, first, end):
        b.store(total, b.load(total) + sum_squared_deviations(b, image, channel, mask, mean))
    variance = sum_lanes(b, b.load(total)) / count
    factor = inverse_deviation(b, variance, epsilon)
    for channel, mask in loop_vectors(b, first, end):
        normalize_pixels(b, image, channel, mask, mean, factor)


def splat_count(b: KernelBuilder, elements: LLVMValue) -> LLVMValue:
    """A number of elements as a float in every lane."""
    return b.splat(elements.convert("sitofp", "float"), b.target.lanes)


def inverse_deviation(b: KernelBuilder, variance: LLVMValue, epsilon: float) -> LLVMValue:
    return 1 / b.call_intrinsic("sqrt", variance + epsilon)


def image_pixels(b: KernelBuilder, image: NormImage, channel: LLVMValue) -> PixelRange:
    """All pixels of the image; the address is that of a channel."""
    address = b.gep(image.x, image.first_pixel * image.x_pixel_stride + channel)
    return PixelRange(address, image.pixels, image.x_pixel_stride)


def sum_squared_deviations(
    b: KernelBuilder, image: NormImage, channel: LLVMValue, mask: LLVMValue | None, mean: LLVMValue
) -> LLVMValue:
    """The sums of (x - mean)^2 over all pixels; 0 in lanes outside the mask."""

    def accumulate(total: LLVMValue, x: LLVMValue) -> LLVMValue:
        return b.fma(x - mean, x - mean, total)

    total = reduce_pixels(b, image.slots, image_pixels(b, image, channel), mask, accumulate, add)
    return total if mask is None else b.select(mask, total, zeros(b))


def normalize_pixels(
    b: KernelBuilder,
    image: NormImage,
    channel: LLVMValue,
    mask: LLVMValue | None,
    mean: LLVMValue,
    inverse_deviation: LLVMValue,
) -> None:
    """Normalizes all pixels for a vector of channels."""
    factor = inverse_deviation * load_vector(b, b.gep(image.scale, channel), mask)
    shift = load_vector(b, b.gep(image.bias, channel), mask)
    with b.loop(i64(b, 0), image.pixels, name="pixel") as index:
        pixel = image.first_pixel + index
        x = load_vector(b, b.gep(image.x, pixel * image.x_pixel_stride + channel), mask)
        store_result(b, image.y, b.fma(x - mean, factor, shift), pixel, channel, mask)
