"""Max, average and Lp pooling of channels-last images of float32, and max pooling of bytes.

Loop nest (`sliding_window_loops`): output rows -> tiles of windows -> vectors of channels -> kernel rows -> input columns.
With unrolled taps, pooling is separable: accumulators reduce the input columns under a tile over the kernel's rows, and
each window combines the accumulators of its columns, which overlapping windows share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Literal

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.element_types import memory_type
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import (
    apply_epilogue,
    load_output,
    nan_propagating_max,
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
    tap_range,
)
from sardonyx._src.compile.kernels.epilogue import (
    NO_EPILOGUE,
    Epilogue,
    epilogue_arguments,
    epilogue_parameters,
)
from sardonyx._src.compile.kernels.loops.vectors import i64, load_window_vector, store_vector
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass

PoolKind = Literal["max", "mean", "mean_with_pads", "lp"]


@dataclass(frozen=True, slots=True)
class PoolingAlgorithm:
    """The reduction of a window, by kind.

    max: the maximum; NaN if any element is NaN, minus infinity for a window that only has padding.
    mean: the mean of the elements inside the image.
    mean_with_pads: the mean with padding as zeros; positions beyond the padding, which `ceil_mode` adds, do not count.
    lp: the Lp norm, the p-th root of the sum of |x|^p.
    """

    kind: PoolKind
    p: float = 2

    @property
    def averages(self) -> bool:
        return self.kind in ("mean", "mean_with_pads")

    def padding_value(self, element: LLVMType) -> float:
        """The value of taps outside of the image, for an element type; it does not change a result."""
        if self.kind != "max":
            return 0.0
        if element.is_float:
            return -math.inf
        return 0 if element.is_unsigned else -(1 << element.bits - 1)

    @property
    def key(self) -> str:
        """The part of the cache key for the algorithm."""
        return f"{self.kind}{self.p!r}" if self.kind == "lp" else self.kind


def pooling_step(
    x: TensorView,
    y: TensorView,
    algorithm: PoolingAlgorithm,
    window: Window,
    epilogue: Epilogue = NO_EPILOGUE,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """The pooling of x [N, H, W, C] into y [N, Ho, Wo, C]; the shape of y determines the number of windows.

    x: float32; for max pooling without an epilogue also int8 or uint8.
    """
    element = memory_type(x.dtype)
    assert element.is_float or (algorithm.kind == "max" and epilogue == NO_EPILOGUE), (
        f"{x.dtype.text} must be pooled by max without an epilogue"
    )
    tile = choose_window_tile(window, y.shape[2])
    parameters = WINDOW_PARAMETERS + epilogue_parameters(epilogue)
    source = partial(pooling_module, epilogue=epilogue, tile=tile, algorithm=algorithm, element=element)
    name = "f32" if element.is_float else element.element
    return Step(
        kernel=Kernel(f"pool_{name}:{algorithm.key}:{tile.key}:{epilogue.key}", source, parameters),
        args=parameters.pack(
            **sliding_window_arguments(x, y, window), **epilogue_arguments(epilogue, operands)
        ),
        units=count_window_units(x, y, window),
        reads=(x, *operands),
        writes=(y,),
        flops=y.num_elements * window.num_taps,
        bytes_accessed=x.nbytes + y.nbytes,
    )


def pooling_module(
    name: str,
    target: Target,
    epilogue: Epilogue,
    tile: WindowTile,
    algorithm: PoolingAlgorithm,
    element: LLVMType,
) -> str:
    """The LLVM module of the kernel.

    Accumulators (`totals`): one for each input column under a tile if taps are unrolled, else one for each window.
    For means, `reciprocals` are 1 / the number of elements of each window.
    """
    b = KernelBuilder(target, WINDOW_PARAMETERS + epilogue_parameters(epilogue))
    window = load_window(b, tile, element.llvm_element)
    y = load_output(b, window.y, window.y_pixel_stride, epilogue, element.llvm_element)
    inputs = LLVMType(element.element, target.lanes)
    reciprocals = [b.new_slot("share", LLVMType("float")) for _ in range(tile.pixels) if algorithm.averages]
    num_totals = len(tile.columns) if tile.is_unrolled else tile.pixels
    totals = [b.new_slot("sum", inputs) for _ in range(num_totals)]
    padding = algorithm.padding_value(element)
    identity = b.constant(padding, inputs)
    load = partial(load_input, b, identity)
    with loop_output_rows(b, window) as row:
        counted_rows = count_tap_rows(b, window, row, algorithm)
        with loop_tiles(b, window) as (column, left):
            store_reciprocals(b, window, reciprocals, counted_rows, left, algorithm)
            prefetch_next_row(b, window, row, left)
            for vector in loop_tile_vectors(b, window, row, column, left):
                for slot in totals:
                    b.store(slot, identity)
                with b.loop(*row.tap_rows, name="tap_row") as tap_row:
                    for i, x in loop_inputs(b, window, vector, tap_row, load):
                        b.store(totals[i], accumulate(b, algorithm, b.load(totals[i]), x))
                first = first_pixel(window, vector)
                for pixel in range(tile.pixels):
                    mask = result_mask(b, window, vector, pixel)
                    total = combine_columns(b, algorithm, tile, totals, pixel)
                    value = finish(b, algorithm, total, reciprocals, pixel)
                    if element.is_float:
                        value = apply_epilogue(b, y, value, first + pixel, vector.channel, mask)
                    store_vector(b, value, pixel_address(b, y, first + pixel, vector.channel), mask)
    return b.build_module(name)


def load_input(b: KernelBuilder, identity: LLVMValue, address: str, mask: LLVMValue | None) -> LLVMValue:
    """A vector of x; `identity` in the lanes outside of the image."""
    memory = MemoryLocation(address, identity.type)
    return b.load(memory) if mask is None else load_window_vector(b, memory, mask, identity)


def loop_inputs(
    b: KernelBuilder, window: WindowArguments, vector: TileVector, tap_row: LLVMValue, load: LoadInput
) -> Iterator[tuple[int, LLVMValue]]:
    """The input vectors under a kernel row, each with the index of its accumulator."""
    if window.tile.is_unrolled:
        yield from loop_columns(b, window, vector, tap_row, load)
    else:
        yield from ((pixel, x) for pixel, _, x in loop_taps(b, window, vector, tap_row, load))


def accumulate(b: KernelBuilder, algorithm: PoolingAlgorithm, total: LLVMValue, x: LLVMValue) -> LLVMValue:
    """The accumulator `total` updated with an input vector."""
    if algorithm.kind == "max":
        return maximum(b, x, total)
    if algorithm.kind != "lp":
        return total + x
    if algorithm.p == 2:
        return b.fma(x, x, total)
    magnitude = b.fabs(x)
    return total + (magnitude if algorithm.p == 1 else power(b, magnitude, algorithm.p))


def maximum(b: KernelBuilder, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """max(x, y); for floats, NaN if either is NaN."""
    return nan_propagating_max(b, x, y) if x.type.is_float else b.select(x > y, x, y)


def combine_columns(
    b: KernelBuilder,
    algorithm: PoolingAlgorithm,
    tile: WindowTile,
    totals: Sequence[MemoryLocation],
    pixel: int,
) -> LLVMValue:
    """The accumulator of a window of the tile; with unrolled taps, the accumulators of its columns are combined."""
    if not tile.is_unrolled:
        return b.load(totals[pixel])
    columns = (tile.columns.index(pixel * tile.stride + tap * tile.dilation) for tap in range(tile.taps))

    def combine(x: LLVMValue, y: LLVMValue) -> LLVMValue:
        return maximum(b, x, y) if algorithm.kind == "max" else x + y

    return reduce(combine, (b.load(totals[i]) for i in columns))


def finish(
    b: KernelBuilder,
    algorithm: PoolingAlgorithm,
    total: LLVMValue,
    reciprocals: Sequence[MemoryLocation],
    pixel: int,
) -> LLVMValue:
    """The result of a window of the tile from its accumulator."""
    if algorithm.averages:
        return total * b.splat(b.load(reciprocals[pixel]), b.target.lanes)
    if algorithm.kind == "max" or algorithm.p == 1:
        return total
    return b.call_intrinsic("sqrt", total) if algorithm.p == 2 else power(b, total, 1 / algorithm.p)


def power(b: KernelBuilder, x: LLVMValue, exponent: float) -> LLVMValue:
    return b.emit_operation("pow", x, b.constant(exponent, x.type))


# --- the number of elements of a window, for means -------------------------------------------


def count_tap_rows(
    b: KernelBuilder, window: WindowArguments, row: OutputRow, algorithm: PoolingAlgorithm
) -> LLVMValue:
    """The number of kernel rows that count for the windows of an output row; 0 if no mean is computed."""
    if not algorithm.averages:
        return i64(b, 0)
    count = row.tap_rows[1] - row.tap_rows[0]
    if algorithm.kind == "mean":
        return count
    low, high = -window.pad_top, window.height + window.pad_bottom
    first, end = tap_range(b, row.top, low, high, window.kernel_height, window.dilation_height)
    return end - first


def store_reciprocals(
    b: KernelBuilder,
    window: WindowArguments,
    reciprocals: Sequence[MemoryLocation],
    counted_rows: LLVMValue,
    left: LLVMValue,
    algorithm: PoolingAlgorithm,
) -> None:
    """Stores the reciprocal of the number of elements of each window of a tile."""
    low, high = i64(b, 0), window.width
    if algorithm.kind == "mean_with_pads":
        low, high = -window.pad_left, window.width + window.pad_right
    for pixel, slot in enumerate(reciprocals):
        start = left + window.stride_width * pixel
        first, end = tap_range(b, start, low, high, window.kernel_width, window.dilation_width)
        count = counted_rows * (end - first)
        b.store(slot, 1 / count.convert("sitofp", "float"))
