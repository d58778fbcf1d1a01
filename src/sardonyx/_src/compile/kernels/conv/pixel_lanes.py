"""Convolutions to few channels, as the last layers of image networks, with output pixels in the lanes of vectors.

    for line of the output:                                     # a unit of work
        for tile of 4 vectors of pixels, then of 2 and 1:
            for block of channels: for channel, for line and pixel of the window:
                for vector, for output channel: add the product of a vector of the image and a weight
            add the bias, apply the epilogue and store

A GEMM has output channels in the lanes; with few channels most lanes would be empty.  Images are channels-first, so that the
pixels of a line are contiguous.  Vectors that reach into the padding are loaded with masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue, emit_epilogue
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    i64,
    load_splat,
    load_vector,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import ConvTuning, tuning_for
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array

SIZES = (
    "channels", "height", "width", "out_height", "out_width", "kernel_height", "kernel_width", "stride_y",
    "dilation_y", "dilation_x", "top", "left", "x_image", "x_channel", "x_line", "y_image", "y_channel", "y_line",
    "block_channels",
)  # fmt: skip
PARAMETERS = Parameters("x", "weights", "bias", "y", *SIZES)


def pixel_lanes_step(
    x: TensorView,
    weights: Array,
    bias: Array | None,
    y: TensorView,
    window: Window,
    epilogue: Epilogue | None = None,
) -> Step:
    """y [N, M, Ho, Wo] = epilogue(conv(x [N, C, H, W], weights [M, C, h, w]) + bias [M]), with unit strides along lines.

    Pixels of lines are contiguous; the epilogue has no operands.
    """
    epilogue, columns = epilogue or Epilogue(), len(weights)
    assert x.strides[3] == 1 == window.strides[1] and not epilogue.operand_layouts, (
        f"pixels of {x} must be contiguous"
    )
    taps = make_constant(np.ascontiguousarray(weights.transpose(1, 2, 3, 0).astype(np.float32)), "weights")
    biases = make_constant(np.zeros(columns, np.float32) if bias is None else bias.astype(np.float32), "bias")
    (images, channels, height, width), (out_height, out_width) = x.shape, y.shape[2:]
    sizes = (
        *(channels, height, width, out_height, out_width, *window.kernel),
        *(window.strides[0], *window.dilations, *window.begin_pads, *x.strides[:3], *y.strides[:3]),
        max(1, ConvTuning.max_block_terms // max(window.num_taps, 1)),
    )
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x, weights=taps, bias=biases, y=y, **dict(zip(SIZES, sizes, strict=True))
    )
    source = partial(emit_module, columns=columns, epilogue=epilogue)
    return Step(
        Kernel(f"convolution_pixel_lanes_{columns}:{epilogue.key}", source, PARAMETERS),
        args,
        images * out_height,
        (x, taps, biases),
        (y,),
        flops=2 * y.num_elements * channels * window.num_taps,
        bytes_accessed=x.nbytes + y.nbytes,
    )


# --- the kernel ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputLine:
    """A line of the output.

    image, weights, bias, target: the addresses of the image, the weights, the bias and the output line.
    first_line: the input line of the first row of taps; it may lie in the padding.
    """

    b: KernelBuilder
    size: Mapping[str, LLVMValue]
    columns: int
    epilogue: Epilogue
    image: str
    weights: str
    bias: str
    target: str
    first_line: LLVMValue


@dataclass(frozen=True, slots=True)
class PixelTile:
    """`vectors` vectors of pixels from `start` on; is_edge: whether they may reach beyond the line of the image or output."""

    start: LLVMValue
    vectors: int
    is_edge: bool = False


def emit_module(name: str, target: Target, columns: int, epilogue: Epilogue) -> str:
    """The LLVM module of the kernel; a unit of work is a line of the output."""
    b = KernelBuilder(target, PARAMETERS)
    x, weights, bias, y = b.pointers("x", "weights", "bias", "y")
    size = dict(zip(SIZES, b.integers(*SIZES), strict=True))
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        image, line = b.udivmod(unit, size["out_height"])
        output = OutputLine(
            b, size, columns, epilogue, b.gep(x, image * size["x_image"]), weights, bias,
            b.gep(y, image * size["y_image"] + line * size["y_line"]), line * size["stride_y"] - size["top"],
        )  # fmt: skip
        for tile in loop_tiles(output, tuning_for(target).conv.pixel_vectors):
            store_tile(output, tile, add_taps(output, tile))
    return b.build_module(name)


def loop_tiles(output: OutputLine, vectors: Sequence[int]) -> Iterator[PixelTile]:
    """Loops over the tiles of a line: at its left edge, inside, the widest first, and at its right edge."""
    b, size, lanes = output.b, output.size, output.b.target.lanes
    reach = (size["kernel_width"] - 1) * size["dilation_x"]
    inside = b.min(size["out_width"], size["width"] + size["left"] - reach)
    left = b.min(size["left"], size["out_width"])
    with b.loop(i64(b, 0), left + (lanes - 1), lanes, "left") as start:
        yield PixelTile(start, 1, is_edge=True)
    for count in vectors:
        with b.loop(start, inside, count * lanes, "pixels") as start:
            yield PixelTile(start, count)
    with b.loop(start, size["out_width"] + (lanes - 1), lanes, "right") as start:
        yield PixelTile(start, 1, is_edge=True)


def add_taps(output: OutputLine, tile: PixelTile) -> list[list[MemoryLocation]]:
    """The sums of a tile, by output channel and vector, in blocks of channels."""
    b, size = output.b, output.size
    totals = new_sums(output, tile)
    with b.loop(
        i64(b, 0), size["channels"] + (size["block_channels"] - 1), size["block_channels"], "block"
    ) as first:
        sums = new_sums(output, tile)
        end = b.min(first + size["block_channels"], size["channels"])
        with ExitStack() as loops:
            channel = loops.enter_context(b.loop(first, end, 1, "channel"))
            tap_line = loops.enter_context(b.loop(i64(b, 0), size["kernel_height"], 1, "tap_line"))
            line = output.first_line + tap_line * size["dilation_y"]
            loops.enter_context(b.if_then((line >= 0) & (line < size["height"])))
            source = b.gep(output.image, channel * size["x_channel"] + line * size["x_line"])
            taps = (channel * size["kernel_height"] + tap_line) * size["kernel_width"]
            tap = loops.enter_context(b.loop(i64(b, 0), size["kernel_width"], 1, "tap"))
            pixel = tile.start + tap * size["dilation_x"] - size["left"]
            weights = b.gep(output.weights, (taps + tap) * output.columns)
            add_products(output, replace(tile, start=pixel), source, weights, sums)
        for total, part in zip(flatten(totals), flatten(sums), strict=True):
            b.store(total, b.load(total) + b.load(part))
    return totals


def new_sums(output: OutputLine, tile: PixelTile) -> list[list[MemoryLocation]]:
    b = output.b
    sums = [[b.new_slot("sum", vector_type(b)) for _ in range(tile.vectors)] for _ in range(output.columns)]
    for total in flatten(sums):
        b.store(total, zeros(b))
    return sums


def flatten(sums: Sequence[Sequence[MemoryLocation]]) -> list[MemoryLocation]:
    return [total for row in sums for total in row]


def add_products(
    output: OutputLine, tile: PixelTile, source: str, weights: str, sums: Sequence[Sequence[MemoryLocation]]
) -> None:
    """Adds the products of the vectors of a line of the image, from the tile's start on, and the weights of a tap."""
    b, lanes = output.b, output.b.target.lanes
    mask = lanes_inside(b, tile.start, output.size["width"]) if tile.is_edge else None
    pixels = [load_vector(b, b.gep(source, tile.start + v * lanes), mask) for v in range(tile.vectors)]
    for column, totals in enumerate(sums):
        weight = load_splat(b, b.gep(weights, i64(b, column)))
        for value, total in zip(pixels, totals, strict=True):
            b.store(total, b.fma(weight, value, b.load(total)))


def lanes_inside(b: KernelBuilder, start: LLVMValue, end: LLVMValue) -> LLVMValue:
    """The mask of the lanes i for which start + i is in [0, end)."""
    lanes = b.target.lanes
    if lanes == 1:
        return (start >= 0) & (start < end)
    numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
    number = LLVMValue(b, LLVMType("i64", lanes), f"<{numbers}>") + b.splat(start, lanes)
    return (number >= 0) & (number < b.splat(end, lanes))


def store_tile(output: OutputLine, tile: PixelTile, sums: Sequence[Sequence[MemoryLocation]]) -> None:
    """Adds the bias to the sums of a tile, applies the epilogue and stores them."""
    b, size, lanes = output.b, output.size, output.b.target.lanes
    mask = first_lanes(b, size["out_width"] - tile.start, lanes) if tile.is_edge else None
    for column, totals in enumerate(sums):
        bias = load_splat(b, b.gep(output.bias, i64(b, column)))
        plane = b.gep(output.target, size["y_channel"] * column)
        for v, total in enumerate(totals):
            value = emit_epilogue(
                b, output.epilogue, vector_type(b), b.load(total) + bias, operand_of_no_epilogue
            )
            store_vector(b, value, b.gep(plane, tile.start + v * lanes), mask)


def operand_of_no_epilogue(number: int) -> LLVMValue:
    raise AssertionError(f"the epilogue must have no operands; got operand {number}")
