"""Gradient of a depthwise convolution by its weights: dw [C, taps] = sum over pixels p of dy[p, c] * x[pixel of p and tap, c].

    for unit (block of channels, kernel row):                     # units of work
        for output line whose input line is inside of the image:
            for tap of the kernel row, for vectors of channels:
                for pixel: part += x * dy; add the part to the sums
        transpose the sums [taps, channels] into dw

SIMD lanes are channels; images are channels-last.  Each unit adds the pixels in the same order, so that sums have the same
bits for any number of threads.  The pixels of a line are summed from zero and then added to the sums, so that rounding errors
grow with the pixels of a line and the number of lines, not with all pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import pixel_stride
from sardonyx._src.compile.kernels.channels_last.sliding_window_loops import tap_range
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    i64,
    load_vector,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import ChannelsLastTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div

SIZES = (
    "lines", "height", "width", "out_height", "out_width", "channels", "kernel_height", "kernel_width", "stride_y",
    "stride_x", "dilation_y", "dilation_x", "top", "left", "x_pixel", "dy_pixel",
)  # fmt: skip
PARAMETERS = Parameters("x", "dy", "dw", *SIZES)


def depthwise_weight_gradient_step(x: TensorView, dy: TensorView, dw: TensorView, window: Window) -> Step:
    """The step of dw [C, 1, height, width], dense, from x [N, H, W, C] and dy [N, Ho, Wo, C] with contiguous channels."""
    images, height, width, channels = x.shape
    assert dw.is_dense and dw.shape == (channels, 1, *window.kernel), f"{dw} must be dense"
    return Step(
        kernel=Kernel("depthwise_weight_gradient", module, PARAMETERS),
        args=PARAMETERS.pack(
            x=x,
            dy=dy,
            dw=dw,
            lines=images * dy.shape[1],
            height=height,
            width=width,
            out_height=dy.shape[1],
            out_width=dy.shape[2],
            channels=channels,
            **window.image_arguments,
            x_pixel=pixel_stride(x),
            dy_pixel=pixel_stride(dy),
        ),
        units=ceil_div(channels, ChannelsLastTuning.gradient_channels) * window.kernel[0],
        reads=(x, dy),
        writes=(dw,),
        flops=dy.num_elements * window.num_taps * 2,
        bytes_accessed=x.nbytes + dy.nbytes + dw.nbytes,
        scratch=window.kernel[1] * ChannelsLastTuning.gradient_channels * 4,
    )


@dataclass(frozen=True, slots=True)
class KernelRow:
    """Row `number` of the taps of a block of channels [first, end); its sums are in scratch, [kernel_width, gradient_channels]."""

    b: KernelBuilder
    size: Mapping[str, LLVMValue]
    number: LLVMValue
    first: LLVMValue
    end: LLVMValue

    def sums(self, tap: LLVMValue, channel: LLVMValue) -> str:
        return self.b.gep(self.b.scratch, tap * ChannelsLastTuning.gradient_channels + (channel - self.first))


def module(name: str, target: Target) -> str:
    """The LLVM module of the kernel."""
    b = KernelBuilder(target, PARAMETERS)
    x, dy, dw = b.pointers("x", "dy", "dw")
    size, block_channels = {name: b.integer(name) for name in SIZES}, ChannelsLastTuning.gradient_channels
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        block, number = b.udivmod(unit, size["kernel_height"])
        first = block * block_channels
        row = KernelRow(b, size, number, first, b.min(first + block_channels, size["channels"]))
        with b.loop(i64(b, 0), size["kernel_width"] * block_channels, target.lanes, "sum") as i:
            store_vector(b, zeros(b), b.gep(b.scratch, i))
        with b.loop(i64(b, 0), size["lines"], name="line") as line:
            image, out_y = b.udivmod(line, size["out_height"])
            y = out_y * size["stride_y"] - size["top"] + number * size["dilation_y"]
            with b.if_then((y >= 0) & (y < size["height"])):
                x_line = b.gep(x, (image * size["height"] + y) * size["width"] * size["x_pixel"])
                add_line(row, x_line, b.gep(dy, line * size["out_width"] * size["dy_pixel"]))
        store_row(row, dw)
    return b.build_module(name)


def add_line(row: KernelRow, x_line: str, dy_line: str) -> None:
    """Adds the products of an output line to the sums of all taps of the row."""
    b, size = row.b, row.size
    with b.loop(i64(b, 0), size["kernel_width"], name="tap") as tap:
        start = tap * size["dilation_x"] - size["left"]
        pixels = tap_range(b, start, i64(b, 0), size["width"], size["out_width"], size["stride_x"])
        for channel, masks in loop_channels(row):
            add_pixels(row, (x_line, dy_line), tap, start, pixels, channel, masks)


def loop_channels(row: KernelRow) -> Iterator[tuple[LLVMValue, list[LLVMValue | None]]]:
    """A loop over groups of vectors of channels: the first channel, and the masks of the vectors."""
    b, lanes, vectors = row.b, row.b.target.lanes, ChannelsLastTuning.gradient_vectors
    with b.loop(row.first, row.end, vectors * lanes, "channels") as channel:
        yield channel, [None] * vectors
    with b.loop(channel, row.end + (lanes - 1), lanes, "channel") as last:
        yield last, [first_lanes(b, row.end - last)]


def add_pixels(
    row: KernelRow,
    lines: tuple[str, str],
    tap: LLVMValue,
    start: LLVMValue,
    pixels: tuple[LLVMValue, LLVMValue],
    channel: LLVMValue,
    masks: list[LLVMValue | None],
) -> None:
    """Adds the products of the pixels [first, end) of a line, for a tap and some vectors of channels."""
    b, size, lanes = row.b, row.size, row.b.target.lanes
    addresses = [row.sums(tap, channel + i * lanes) for i in range(len(masks))]
    sums = [b.new_slot("sum", vector_type(b)) for _ in masks]
    for slot in sums:
        b.store(slot, zeros(b))
    with b.loop(*pixels, name="pixel") as pixel:
        x = b.gep(lines[0], (pixel * size["stride_x"] + start) * size["x_pixel"] + channel)
        dy = b.gep(lines[1], pixel * size["dy_pixel"] + channel)
        for i, (slot, mask) in enumerate(zip(sums, masks, strict=True)):
            factor, gradient = (load_vector(b, b.gep(base, i64(b, i * lanes)), mask) for base in (x, dy))
            b.store(slot, b.fma(factor, gradient, b.load(slot)))
    for address, slot in zip(addresses, sums, strict=True):
        store_vector(b, load_vector(b, address) + b.load(slot), address)


def store_row(row: KernelRow, dw: str) -> None:
    """Writes the sums of the row to the weights of its channels."""
    b, size, number = row.b, row.size, LLVMType("float")
    taps = size["kernel_height"] * size["kernel_width"]
    with (
        b.loop(row.first, row.end, name="channel") as channel,
        b.loop(i64(b, 0), size["kernel_width"], name="tap") as tap,
    ):
        value = b.load(MemoryLocation(row.sums(tap, channel), number))
        offset = channel * taps + row.number * size["kernel_width"] + tap
        b.store(MemoryLocation(b.gep(dw, offset), number), value)
