"""Columns of a deformable convolution: the pixels under each tap of each window, shifted by offsets and interpolated.

Loop nest: units of work (rows of windows) -> windows -> taps -> segments of channels with one offset -> vectors of channels.
"""

from __future__ import annotations

import math
from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import pixel_stride
from sardonyx._src.compile.kernels.loops.memory import load_at
from sardonyx._src.compile.kernels.loops.vectors import i64, store_vector
from sardonyx._src.compile.kernels.sampling.bilinear import (
    SampledImage,
    corners,
    loop_weighted_pixels,
    neighbors,
)
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass

SIZES = (
    "x_pixel_stride", "height", "width", "out_height", "out_width", "groups", "offset_groups", "segments", "segment_channels",
    "kernel_height", "kernel_width", "stride_height", "stride_width", "dilation_height", "dilation_width", "pad_top",
    "pad_left",
)  # fmt: skip
PARAMETERS = Parameters("x", "offsets", "mask", "y", *SIZES)
FLOAT = LLVMType("float")
CORNERS = 4


def deform_columns_step(
    x: TensorView,
    offsets: TensorView,
    mask: TensorView | None,
    y: TensorView,
    window: Window,
    offset_groups: int,
) -> Step:
    """The step that writes the columns y [N, groups, Ho, Wo, taps, C / groups]; all tensors are dense and float32.

    x: [N, H, W, C], channels last, with a constant C.
    offsets: [N, offset_groups * taps * 2, Ho, Wo].
    mask: [N, offset_groups * taps, Ho, Wo], by which pixels are multiplied; None for 1.
    offset_groups: the number of groups of channels that share offsets.
    """
    n, height, width, channels = x.shape
    assert isinstance(channels, int), f"channels must be a number; got {channels}"
    groups = y.shape[1]
    assert isinstance(groups, int), f"groups must be a number; got {groups}"
    segments = math.lcm(groups, offset_groups)
    _, _, out_height, out_width, _, _ = y.shape
    sizes = (
        pixel_stride(x), height, width, out_height, out_width, groups, offset_groups, segments,
        channels // segments, *window.kernel, *window.strides, *window.dilations, *window.begin_pads,
    )  # fmt: skip
    source = partial(deform_columns_module, has_mask=mask is not None)
    return Step(
        Kernel(f"deform_columns{'' if mask is None else '_mask'}", source, PARAMETERS),
        PARAMETERS.pack(
            x=x,
            offsets=offsets,
            mask=offsets if mask is None else mask,
            y=y,
            **dict(zip(SIZES, sizes, strict=True)),
        ),
        n * out_height,
        (x, offsets, *(() if mask is None else (mask,))),
        (y,),
        flops=y.num_elements * 2 * CORNERS,
        bytes_accessed=x.nbytes + offsets.nbytes + y.nbytes,
    )


@dataclass(frozen=True, slots=True)
class WindowTap:
    """A tap of a window: the number of the image, the row and column of the window, and the row and column of the tap."""

    image: LLVMValue
    row: LLVMValue
    column: LLVMValue
    tap_row: LLVMValue
    tap_column: LLVMValue


def deform_columns_module(name: str, target: Target, *, has_mask: bool) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, offsets, mask, y = b.pointers("x", "offsets", "mask", "y")
    size = {word: b.integer(word) for word in SIZES}
    taps = size["kernel_height"] * size["kernel_width"]
    per_group, per_offset = (b.udiv(size["segments"], size[word]) for word in ("groups", "offset_groups"))
    group_channels = per_group * size["segment_channels"]
    points = size["out_height"] * size["out_width"]
    with (
        b.loop(b.first_unit, b.end_unit, name="row") as unit,
        b.loop(i64(b, 0), size["out_width"], name="window") as column,
        b.loop(i64(b, 0), size["kernel_height"], name="tap_row") as tap_row,
        b.loop(i64(b, 0), size["kernel_width"], name="tap") as tap_column,
        b.loop(i64(b, 0), size["segments"], name="segment") as segment,
    ):
        image, row = b.udivmod(unit, size["out_height"])
        window_tap = WindowTap(image, row, column, tap_row, tap_column)
        tap = tap_row * size["kernel_width"] + tap_column
        offset_group = b.udiv(segment, per_offset)
        number = (image * size["offset_groups"] + offset_group) * taps + tap
        point = row * size["out_width"] + column
        axes = tap_position(b, size, window_tap, offsets, number * 2 * points + point, points)
        first = segment * size["segment_channels"]
        pixels = image * size["height"] * size["width"] * size["x_pixel_stride"] + first
        source = SampledImage(b.gep(x, pixels), size["height"], size["width"], size["x_pixel_stride"], FLOAT)
        group, inner = b.udivmod(segment, per_group)
        target_row = (image * size["groups"] + group) * points + point
        offset = (target_row * taps + tap) * group_channels + inner * size["segment_channels"]
        factor = (
            b.splat(load_at(b, mask, number * points + point, "float"), b.target.lanes) if has_mask else None
        )
        rows, columns = (
            neighbors(b, position, size[word])
            for position, word in zip(axes, ("height", "width"), strict=True)
        )
        near = list(corners(source, rows, columns))
        for channel, lanes, terms in loop_weighted_pixels(b, source, near, size["segment_channels"]):
            total = (terms[0] + terms[1]) + (terms[2] + terms[3])
            value = total if factor is None else total * factor
            store_vector(b, value, b.gep(y, offset + channel), lanes)
    return b.build_module(name)


def tap_position(
    b: KernelBuilder,
    size: dict[str, LLVMValue],
    tap: WindowTap,
    offsets: str,
    first: LLVMValue,
    points: LLVMValue,
) -> list[LLVMValue]:
    """The row and the column of the image that a tap reads, in double.

    first: the index in `offsets` of the offset of the row; that of the column is `points` elements after it.
    """
    starts = (
        tap.row * size["stride_height"] - size["pad_top"] + tap.tap_row * size["dilation_height"],
        tap.column * size["stride_width"] - size["pad_left"] + tap.tap_column * size["dilation_width"],
    )
    positions = []
    for axis, start in enumerate(starts):
        shift = load_at(b, offsets, first + points * axis, "float").convert("fpext", "double")
        positions.append(start.convert("sitofp", "double") + shift)
    return positions
