"""Local response normalization (LRN) across the channels of channels-last images.

y = x / (bias + alpha / size * (sum of the squares of `size` neighboring channels)) ^ beta

A unit of work is `lrn_unit_pixels` pixels, in two passes.  The first pass stores the squares of the channels in scratch, for
each pixel [window - 1 + channels] with zeros on either side, so that the sums of the second pass need no bounds checks.
Loop nest of a pass: pixels -> vectors of channels (-> neighbors in the second pass).
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import image_arguments, load_output, store_result
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
)
from sardonyx._src.compile.kernels.loops.vectors import (
    i64,
    load_vector,
    loop_vectors,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import ChannelsLastTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div, dim_min

LRN_SIZES = ("x_pixel_stride", "y_pixel_stride", "pixels", "channels", "window", "before")
# window: the number of neighbors, with the channel itself; before: the neighbors before the channel.
LRN_PARAMETERS = Parameters("x", "y", *LRN_SIZES)


@dataclass(frozen=True, slots=True)
class LrnParameters:
    """The attributes of LRN, with the defaults of the ONNX specification."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    @property
    def key(self) -> str:
        """The part of the kernel's cache key; the window is an argument, so that the size only occurs in the factor of the sum."""
        return f"{self.alpha / self.size!r},{self.beta!r},{self.bias!r}"


def lrn_step(
    x: TensorView,
    y: TensorView,
    lrn: LrnParameters,
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """The step of y = LRN(x), both [N, H, W, C]; if the size is even, a channel has one more neighbor after it than before.

    The window is limited to the neighbors that a channel can have, so that scratch and time do not grow with the size.
    """
    n, height, width, channels = x.shape
    pixels = n * height * width
    before, after = (dim_min(channels, count) for count in ((lrn.size - 1) // 2, lrn.size // 2))
    window = before + after + 1
    units = ceil_div(pixels, ChannelsLastTuning.lrn_unit_pixels)
    assert units is not None, f"dims must be known; got {x}"
    parameters = LRN_PARAMETERS + epilogue_parameters(epilogue)
    source = partial(lrn_module, epilogue=epilogue, lrn=lrn)
    return Step(
        kernel=Kernel(f"lrn_f32:{lrn.key}:{epilogue.key}", source, parameters),
        args=parameters.pack(
            **image_arguments(x, y),
            pixels=pixels,
            channels=channels,
            window=window,
            before=before,
            **epilogue_arguments(epilogue, operands),
        ),
        units=units,
        reads=(x, *operands),
        writes=(y,),
        flops=x.num_elements * (window + ChannelsLastTuning.lrn_pow_flops),
        bytes_accessed=x.nbytes + y.nbytes,
        scratch=(channels + (window - 1)) * (4 * ChannelsLastTuning.lrn_unit_pixels),
    )


def lrn_module(name: str, target: Target, epilogue: Epilogue, lrn: LrnParameters) -> str:
    """The LLVM module of the kernel."""
    b = KernelBuilder(target, LRN_PARAMETERS + epilogue_parameters(epilogue))
    x, y_address = b.pointers("x", "y")
    x_pixel_stride, y_pixel_stride, pixels, channels, window, before = b.integers(*LRN_SIZES)
    y = load_output(b, y_address, y_pixel_stride, epilogue)
    padded_channels = channels + window - 1
    total = b.new_slot("sum", vector_type(b))
    unit_pixels = ChannelsLastTuning.lrn_unit_pixels
    clear_squares(b, padded_channels * unit_pixels)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        first = unit * unit_pixels
        end = b.min(first + unit_pixels, pixels)
        with b.loop(first, end, name="pixel") as pixel:
            squares = b.gep(b.scratch, (pixel - first) * padded_channels)
            for channel, mask in loop_vectors(b, 0, channels):
                value = load_vector(b, b.gep(x, pixel * x_pixel_stride + channel), mask)
                store_vector(b, value * value, b.gep(squares, channel + before), mask)
        with b.loop(first, end, name="pixel") as pixel:
            squares = b.gep(b.scratch, (pixel - first) * padded_channels)
            for channel, mask in loop_vectors(b, 0, channels):
                b.store(total, zeros(b))
                with b.loop(i64(b, 0), window, name="around") as neighbor:
                    square = load_vector(b, b.gep(squares, channel + neighbor), mask)
                    b.store(total, b.load(total) + square)
                base = b.fma(b.load(total), b.constant(lrn.alpha / lrn.size, vector_type(b)), lrn.bias)
                value = load_vector(b, b.gep(x, pixel * x_pixel_stride + channel), mask)
                store_result(b, y, value / power(b, base, lrn.beta), pixel, channel, mask)
    return b.build_module(name)


def clear_squares(b: KernelBuilder, count: LLVMValue) -> None:
    """Sets `count` floats of the scratch memory to 0."""
    zero = b.constant(0.0, LLVMType("float"))
    with b.loop(i64(b, 0), count, name="place") as i:
        b.store(MemoryLocation(b.gep(b.scratch, i), zero.type), zero)


def power(b: KernelBuilder, base: LLVMValue, exponent: float) -> LLVMValue:
    """base ^ exponent; common exponents, 0.5 and 0.75, are computed by square roots."""
    match exponent:
        case 1.0:
            return base
        case 0.5:
            return b.call_intrinsic("sqrt", base)
        case 0.75:
            root = b.call_intrinsic("sqrt", base)
            return root * b.call_intrinsic("sqrt", root)
    return b.emit_operation("pow", base, b.constant(exponent, base.type))
