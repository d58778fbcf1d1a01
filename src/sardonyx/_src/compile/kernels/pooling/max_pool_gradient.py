"""Gradient of max pooling of channels-last images: each window adds its gradient to the first of its maxima.

    for image and block of channels (a unit of work): zeros in dx
        for window: for vector of channels:
            for tap: compare; keep the greatest element and its tap
            for tap: dx += dy in the lanes where the tap has the greatest element

The positions of the maxima are computed again from x; the forward pass does not store them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import pixel_stride
from sardonyx._src.compile.kernels.loops.vectors import (
    i64,
    load_vector,
    loop_vectors,
    sdiv,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import ChannelsLastTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div

SIZES = (
    "height", "width", "out_height", "out_width", "channels", "blocks", "kernel_height", "kernel_width", "stride_y",
    "stride_x", "dilation_y", "dilation_x", "top", "left", "x_pixel", "dy_pixel", "dx_pixel",
)  # fmt: skip
PARAMETERS = Parameters("x", "dy", "dx", *SIZES)


def max_pool_gradient_step(x: TensorView, dy: TensorView, dx: TensorView, window: Window) -> Step:
    """The step of dx [N, H, W, C] from x [N, H, W, C] and dy [N, Ho, Wo, C], all with contiguous channels."""
    images, height, width, channels = x.shape
    blocks = ceil_div(channels, ChannelsLastTuning.gradient_channels)
    return Step(
        kernel=Kernel("max_pool_gradient", module, PARAMETERS),
        args=PARAMETERS.pack(
            x=x,
            dy=dy,
            dx=dx,
            height=height,
            width=width,
            out_height=dy.shape[1],
            out_width=dy.shape[2],
            channels=channels,
            blocks=blocks,
            **window.image_arguments,
            x_pixel=pixel_stride(x),
            dy_pixel=pixel_stride(dy),
            dx_pixel=pixel_stride(dx),
        ),
        units=images * blocks,
        reads=(x, dy),
        writes=(dx,),
        flops=dy.num_elements * window.num_taps * 2,
        bytes_accessed=2 * x.nbytes + dy.nbytes,
    )


@dataclass(frozen=True, slots=True)
class WindowTaps:
    """The taps of a window that are inside of the image.

    y, x: the input row and column of tap 0.
    rows, columns: the taps [first, end) along each axis.
    """

    b: KernelBuilder
    size: Mapping[str, LLVMValue]
    y: LLVMValue
    x: LLVMValue
    rows: tuple[LLVMValue, LLVMValue]
    columns: tuple[LLVMValue, LLVMValue]

    @contextmanager
    def loop(self) -> Iterator[tuple[LLVMValue, LLVMValue]]:
        """A loop over the taps: yields the number of a tap, and its pixel in the image."""
        b, size = self.b, self.size
        with b.loop(*self.rows, name="ky") as ky, b.loop(*self.columns, name="kx") as kx:
            y, x = self.y + ky * size["dilation_y"], self.x + kx * size["dilation_x"]
            yield ky * size["kernel_width"] + kx, y * size["width"] + x


def module(name: str, target: Target) -> str:
    """The LLVM module of the kernel."""
    b = KernelBuilder(target, PARAMETERS)
    x, dy, dx = b.pointers("x", "dy", "dx")
    size = {name: b.integer(name) for name in SIZES}
    pixels, windows = size["height"] * size["width"], size["out_height"] * size["out_width"]
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        image, block = b.udivmod(unit, size["blocks"])
        channel = block * ChannelsLastTuning.gradient_channels
        end = b.min(channel + ChannelsLastTuning.gradient_channels, size["channels"])
        image_x = b.gep(x, image * pixels * size["x_pixel"])
        image_dx = b.gep(dx, image * pixels * size["dx_pixel"])
        image_dy = b.gep(dy, image * windows * size["dy_pixel"])
        with b.loop(i64(b, 0), pixels, name="pixel") as pixel:
            row = b.gep(image_dx, pixel * size["dx_pixel"])
            for c, mask in loop_vectors(b, channel, end):
                store_vector(b, zeros(b), b.gep(row, c), mask)
        with (
            b.loop(i64(b, 0), size["out_height"], name="row") as row_number,
            b.loop(i64(b, 0), size["out_width"], name="column") as column,
        ):
            taps = window_taps(b, size, row_number, column)
            gradient = b.gep(image_dy, (row_number * size["out_width"] + column) * size["dy_pixel"])
            for c, mask in loop_vectors(b, channel, end):
                addresses = (b.gep(image_x, c), b.gep(gradient, c), b.gep(image_dx, c))
                add_window(b, size, taps, addresses, mask)
    return b.build_module(name)


def window_taps(
    b: KernelBuilder, size: Mapping[str, LLVMValue], row: LLVMValue, column: LLVMValue
) -> WindowTaps:
    """The taps of a window."""
    y = row * size["stride_y"] - size["top"]
    x = column * size["stride_x"] - size["left"]
    rows = taps_inside(b, y, size["height"], size["kernel_height"], size["dilation_y"])
    columns = taps_inside(b, x, size["width"], size["kernel_width"], size["dilation_x"])
    return WindowTaps(b, size, y, x, rows, columns)


def taps_inside(
    b: KernelBuilder, start: LLVMValue, length: LLVMValue, taps: LLVMValue, dilation: LLVMValue
) -> tuple[LLVMValue, LLVMValue]:
    """The taps [first, end) for which 0 <= start + tap * dilation < length."""

    def taps_below(limit: LLVMValue) -> LLVMValue:
        distance = b.select(limit > 0, limit, i64(b, 0))
        return b.min(sdiv(b, distance + (dilation - 1), dilation), taps)

    return taps_below(0 - start), taps_below(length - start)


def add_window(
    b: KernelBuilder,
    size: Mapping[str, LLVMValue],
    taps: WindowTaps,
    addresses: tuple[str, str, str],
    mask: LLVMValue | None,
) -> None:
    """Adds the gradient of a window, for a vector of channels.

    addresses: the vector's addresses in the image of x, in the window's pixel of dy, and in the image of dx.
    """
    x, dy, dx = addresses
    floats, numbers = vector_type(b), LLVMType("i32", b.target.lanes)
    greatest, winner = b.new_slot("greatest", floats), b.new_slot("winner", numbers)
    b.store(greatest, b.constant(float("-inf"), floats))
    b.store(winner, splat_number(b, taps.rows[0] * size["kernel_width"] + taps.columns[0], numbers))
    with taps.loop() as (tap, pixel):
        value, best = load_vector(b, b.gep(x, pixel * size["x_pixel"]), mask), b.load(greatest)
        is_greater = (value > best) | (value.ne(value) & best.eq(best))
        b.store(greatest, b.select(is_greater, value, best))
        b.store(winner, b.select(is_greater, splat_number(b, tap, numbers), b.load(winner)))
    gradient, best_tap = load_vector(b, dy, mask), b.load(winner)
    with taps.loop() as (tap, pixel):
        address = b.gep(dx, pixel * size["dx_pixel"])
        share = b.select(best_tap.eq(splat_number(b, tap, numbers)), gradient, zeros(b))
        store_vector(b, load_vector(b, address, mask) + share, address, mask)


def splat_number(b: KernelBuilder, number: LLVMValue, numbers: LLVMType) -> LLVMValue:
    """An i64 as i32 in every lane."""
    return b.splat(b.emit(LLVMType("i32"), f"trunc {LLVMValue(b, I64, number.name)} to i32"), numbers.lanes)
