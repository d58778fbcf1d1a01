"""Depthwise convolution of channels-last images: each channel has a filter of its own.

x: [N, H, W, C], weights packed as [kh * kw, C], y: [N, Ho, Wo, C].  Loop nest (`sliding_window_loops`): output rows -> tiles
of output pixels -> vectors of channels -> kernel rows -> input columns.  Lanes are channels, so that a tap is one
multiply-add of an input vector and a weight vector.  The weights of a kernel row are loaded once for all pixels of a tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import (
    OutputImage,
    PixelResult,
    apply_epilogues,
    load_output,
    pixel_address,
)
from sardonyx._src.compile.kernels.channels_last.sliding_window import (
    WINDOW_PARAMETERS,
    WindowTile,
    choose_window_tile,
    count_window_units,
    sliding_window_arguments,
)
from sardonyx._src.compile.kernels.channels_last.sliding_window_loops import (
    LoadInput,
    OutputRow,
    TileVector,
    WindowArguments,
    first_pixel,
    load_window,
    loop_columns,
    loop_output_rows,
    loop_taps,
    loop_tile_vectors,
    loop_tiles,
    prefetch_next_row,
    result_mask,
)
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
)
from sardonyx._src.compile.kernels.loops.vectors import load_vector, store_vector, vector_type
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class DepthwiseArithmetic:
    """The operations of a depthwise convolution on vectors of channels, which depend on its element types.

    accumulator: the type of sums, weights and bias.
    load_input: loads an input vector, given an address and a mask; lanes outside of the mask must not change a sum.
    multiply_add: the new sum, given (sum, input, weights).
    apply_epilogues: the results, given (output image, sums, channel).
    """

    accumulator: LLVMType
    load_input: LoadInput
    multiply_add: Callable[[LLVMValue, LLVMValue, LLVMValue], LLVMValue]
    apply_epilogues: Callable[[OutputImage, Sequence[PixelResult], LLVMValue], Iterable[LLVMValue]]


def pack_depthwise_weights(weights: Array) -> Array:
    """Weights [C, 1, kh, kw] as [kh * kw, C]: the channels of a tap are contiguous."""
    channels, _, height, width = weights.shape
    return weights.reshape(channels, height * width).T.copy()


def depthwise_step(
    x: TensorView,
    weights: TensorView,
    y: TensorView,
    bias: TensorView | None,
    window: Window,
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """The convolution of x [N, H, W, C] with weights [kh * kw, C] and bias [C] into y [N, Ho, Wo, C]."""
    tile = choose_window_tile(window, y.shape[2])
    constants = {"weights": weights} if bias is None else {"weights": weights, "bias": bias}
    parameters = depthwise_parameters(epilogue, *constants)
    has_bias = bias is not None
    source = partial(depthwise_module, epilogue=epilogue, tile=tile, has_bias=has_bias)
    return Step(
        kernel=Kernel(f"depthwise_f32:{tile.key}:{has_bias}:{epilogue.key}", source, parameters),
        args=parameters.pack(
            **sliding_window_arguments(x, y, window), **constants, **epilogue_arguments(epilogue, operands)
        ),
        units=count_window_units(x, y, window),
        reads=(x, *constants.values(), *operands),
        writes=(y,),
        flops=y.num_elements * (2 * window.num_taps),
        bytes_accessed=x.nbytes + y.nbytes,
    )


def depthwise_parameters(epilogue: Epilogue, *constants: str) -> Parameters:
    """The parameters of a depthwise convolution; constants: the names of the weights and of other constant operands."""
    return WINDOW_PARAMETERS + Parameters(*constants) + epilogue_parameters(epilogue)


def depthwise_module(
    name: str, target: Target, epilogue: Epilogue, tile: WindowTile, *, has_bias: bool
) -> str:
    """The LLVM module of a convolution of float32."""
    constants = ("weights", "bias") if has_bias else ("weights",)
    b = KernelBuilder(target, depthwise_parameters(epilogue, *constants))
    window = load_window(b, tile)
    weights = b.pointer("weights")
    bias = b.pointer("bias") if has_bias else None
    y = load_output(b, window.y, window.y_pixel_stride, epilogue)

    emit_depthwise(make_depthwise(b, window, weights, bias, y, float32_arithmetic(b)))
    return b.build_module(name)


def float32_arithmetic(b: KernelBuilder) -> DepthwiseArithmetic:
    def multiply_add(total: LLVMValue, x: LLVMValue, weight: LLVMValue) -> LLVMValue:
        return b.fma(x, weight, total)

    return DepthwiseArithmetic(
        vector_type(b), partial(load_vector, b), multiply_add, partial(apply_epilogues, b)
    )


@dataclass(frozen=True, slots=True)
class Depthwise:
    """A depthwise convolution in a kernel.

    weights, bias: the addresses of the weights and of the bias; None without a bias.
    sums: the accumulators of a tile of windows.
    """

    b: KernelBuilder
    window: WindowArguments
    weights: str
    bias: str | None
    y: OutputImage
    arithmetic: DepthwiseArithmetic
    sums: Sequence[MemoryLocation]


def make_depthwise(
    b: KernelBuilder,
    window: WindowArguments,
    weights: str,
    bias: str | None,
    y: OutputImage,
    arithmetic: DepthwiseArithmetic,
) -> Depthwise:
    """The convolution, with newly allocated accumulators."""
    sums = [b.new_slot("sum", arithmetic.accumulator) for _ in range(window.tile.pixels)]
    return Depthwise(b, window, weights, bias, y, arithmetic, sums)


def emit_depthwise(conv: Depthwise) -> None:
    """The loop nest."""
    b, window = conv.b, conv.window
    with loop_output_rows(b, window) as row, loop_tiles(b, window) as (column, left):
        prefetch_next_row(b, window, row, left)
        emit_window_tile(conv, row, column, left)


def emit_window_tile(conv: Depthwise, row: OutputRow, column: LLVMValue, left: LLVMValue) -> None:
    """A tile of windows: the sums of their taps, and the epilogue."""
    b, window, arithmetic = conv.b, conv.window, conv.arithmetic
    for vector in loop_tile_vectors(b, window, row, column, left):
        initial = b.constant(0, arithmetic.accumulator)
        if conv.bias is not None:
            element = arithmetic.accumulator.element
            initial = load_vector(b, b.gep(conv.bias, vector.channel), vector.mask, element=element)
        for slot in conv.sums:
            b.store(slot, initial)
        with b.loop(*row.tap_rows, name="tap_row") as tap_row:
            emit_tap_row(conv, vector, tap_row)
        first = first_pixel(window, vector)
        totals = [
            PixelResult(b.load(slot), first + pixel, result_mask(b, window, vector, pixel))
            for pixel, slot in enumerate(conv.sums)
        ]
        results = arithmetic.apply_epilogues(conv.y, totals, vector.channel)
        for total, result in zip(totals, results, strict=True):
            store_vector(b, result, pixel_address(b, conv.y, total.pixel, vector.channel), total.mask)


def emit_tap_row(conv: Depthwise, vector: TileVector, tap_row: LLVMValue) -> None:
    """The taps of a kernel row, for all windows of a tile."""
    b, window, arithmetic, sums = conv.b, conv.window, conv.arithmetic, conv.sums
    tile = window.tile
    filters = b.gep(conv.weights, tap_row * window.kernel_width * window.channels + vector.channel)

    def load_weight(tap: int | LLVMValue) -> LLVMValue:
        address = b.gep(filters, window.channels * tap)
        return load_vector(b, address, vector.mask, element=arithmetic.accumulator.element)

    if tile.is_unrolled:
        weights = [load_weight(tap) for tap in range(tile.taps)]
        for i, x in loop_columns(b, window, vector, tap_row, arithmetic.load_input):
            for pixel, tap in tile.windows_over(tile.columns[i]):
                total = b.load(sums[pixel])
                b.store(sums[pixel], arithmetic.multiply_add(total, x, weights[tap]))
    else:
        for pixel, position, x in loop_taps(b, window, vector, tap_row, arithmetic.load_input):
            total = b.load(sums[pixel])
            b.store(sums[pixel], arithmetic.multiply_add(total, x, load_weight(position)))
