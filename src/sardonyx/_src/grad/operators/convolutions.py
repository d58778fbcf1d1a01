"""Gradients of Conv and ConvTranspose.

The gradient of the input of Conv is a ConvTranspose, and the other way around; the gradient of the weights is a
convolution of the input and the gradient of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.grad.operators.sliding_windows import (
    WindowAttributes,
    transposed_windows,
    window_attributes,
)
from sardonyx._src.grad.registry import decomposition, operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients, shape_of
from sardonyx._src.ops.nn.conv_transpose import numbers, spreading_of


@operator("Conv").gradient(22)
def conv(step: BackwardStep) -> Gradients:
    x, w, dy = step.input(0), step.input(1), step.gradient()
    windows, group = window_attributes(step, 1), step.inference.integer("group")
    taps = (shape_of(w) or (None,) * (windows.rank + 2))[2:]
    dx = transposed_windows(step, dy, w, windows, x, taps, group) if step.wants(0) else None
    dw = weight_gradient(step, x, dy, w, windows) if step.wants(1) else None
    return [dx, dw, bias_gradient(step) if step.wants(2) else None]


@operator("ConvTranspose").gradient(22)
def conv_transpose(step: BackwardStep) -> Gradients:
    """The gradient is cropped to the elements that the input reaches: no input reaches those that output_padding adds."""
    x, w, dy = step.input(0), step.input(1), step.gradient()
    windows, group = window_attributes(step, 1), step.inference.integer("group")
    dx = dw = None
    if step.wants(0):
        product = step.op(
            "Conv",
            dy,
            w,
            strides=windows.strides,
            dilations=windows.dilations,
            pads=windows.pads,
            group=group,
        )
        dx = first_sizes(step, product, x, windows.rank)
    if step.wants(1):
        dw = weight_gradient(step, dy, x, w, windows)
    return [dx, dw, bias_gradient(step) if step.wants(2) else None]


@decomposition("ConvTranspose", 22)
def spell_padding(step: BackwardStep) -> Sequence[Value | None] | None:
    """Replaces auto_pad by the pads that follow from the sizes."""
    sizes = step.inference.integers("output_shape")
    auto_pad = step.inference.attributes.get("auto_pad") or "NOTSET"
    if sizes is None and auto_pad in ("NOTSET", "VALID"):
        return None
    size, kernel = step.shape(0)[2:], step.shape(1)[2:]
    spreading = spreading_of(step.inference, len(size))
    windows = spreading.windows(size, kernel)
    extra = [
        own + max(result - reach, 0)
        for own, result, reach in zip(
            spreading.output_padding, windows.size, numbers(spreading.reach(size, kernel)), strict=True
        )
    ]
    result = step.op(
        "ConvTranspose",
        *step.node.inputs,
        strides=windows.strides,
        dilations=windows.dilations,
        group=step.inference.integer("group"),
        pads=[*windows.before, *windows.after],
        output_padding=extra,
    )
    return [result]


def bias_gradient(step: BackwardStep) -> Value:
    """The sum over batch and space."""
    return step.ReduceSum(step.gradient(), step.integers([0, *range(2, step.rank(0))]), keepdims=0)


def weight_gradient(
    step: BackwardStep, wide: Value, narrow: Value, w: Value, windows: WindowAttributes
) -> Value:
    """The gradient of weights [M, C / group, *kernel].

    It sums products of `wide` [N, C, *size], as windows read it, and `narrow` [N, M, *out]: a convolution in which batch and
    channels are exchanged, strides are dilations, and dilations strides.
    """
    group = step.inference.integer("group")
    images, kernels = (
        channels_first(step, wide, group, by_group=False),
        channels_first(step, narrow, group, by_group=True),
    )
    product = step.op(
        "Conv",
        images,
        kernels,
        strides=windows.dilations,
        dilations=windows.strides,
        pads=windows.pads,
        group=group,
    )
    swapped = step.op("Transpose", product, perm=[1, 0, *range(2, windows.rank + 2)])
    return first_sizes(step, swapped, w, windows.rank)


def channels_first(step: BackwardStep, x: Value, group: int, *, by_group: bool) -> Value:
    """x [N, group * C, *size] as [C, group * N, *size], or as [group * C, N, *size] if ordered by group."""
    rank = step.rank(0)
    if by_group or group == 1:
        return step.op("Transpose", x, perm=[1, 0, *range(2, rank)])
    space = step.op("Shape", x, start=2)
    batch = step.op("Shape", x, start=0, end=1)
    count = step.integers([group])
    channels = step.Div(step.op("Shape", x, start=1, end=2), count)
    split = step.Reshape(x, step.op("Concat", batch, count, channels, space, axis=0), allowzero=1)
    moved = step.op("Transpose", split, perm=[2, 1, 0, *range(3, rank + 1)])
    sizes = step.op("Concat", channels, step.Mul(batch, count), space, axis=0)
    return step.Reshape(moved, sizes, allowzero=1)


def first_sizes(step: BackwardStep, x: Value, like: Value, rank: int) -> Value:
    """The leading part of x, with the spatial sizes of `like`."""
    axes = step.integers(range(2, rank + 2))
    return step.Slice(x, step.integers([0] * rank), step.op("Shape", like, start=2), axes)
