"""Convolution by im2col and matrix products, block by block.

Each block of windows is copied into im2col columns that stay in the cache, and one matrix product per group computes
its outputs.  Kernels of one tap need no columns; a depthwise kernel needs no matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape
from sardonyx._src.ir.dims import Dim, dim_mul
from sardonyx._src.ops.api import RunContext
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.windows import (
    WindowGeometry,
    compute_windows,
    full_slices,
    iterate_taps,
    pad_input,
    unfold_windows,
    window_dims,
)
from sardonyx._src.ops.support.shapes import merge_dims

IM2COL_BLOCK_ELEMENTS = 1 << 20  # 4 MiB of float32: fits a second-level cache


def convolution_windows(
    x: Array,
    w: Array,
    group: int,
    *,
    kernel_shape: Sequence[int] | None,
    strides: Sequence[int] | None,
    pads: Sequence[int] | None,
    dilations: Sequence[int] | None,
    auto_pad: str,
) -> WindowGeometry:
    """The windows of a convolution of x [N, C, *spatial] with w [M, C/group, *kernel].

    Raises EvaluationError when x, w, `group` and `kernel_shape` contradict each other.
    """
    check_kernel(x, w, kernel_shape)
    if group < 1 or w.shape[0] % group or w.shape[1] * group != x.shape[1]:
        what = f"{x.shape[1]} channels, W of shape {list(w.shape)} and group {group}"
        raise EvaluationError(
            f"x must have W[1] * group channels and W[0] must be a multiple of group; got {what}"
        )
    return compute_windows(
        x.shape[2:], w.shape[2:], strides=strides, pads=pads, dilations=dilations, auto_pad=auto_pad
    )


def check_kernel(x: Array, w: Array, kernel_shape: Sequence[int] | None) -> None:
    """Raises EvaluationError unless x and w have one rank, and w has the kernel that the attribute states."""
    if x.ndim < 2 or x.ndim != w.ndim:
        raise EvaluationError(f"x and W must have the same rank >= 2; got {x.ndim} and {w.ndim}")
    if kernel_shape is not None and tuple(kernel_shape) != w.shape[2:]:
        raise EvaluationError(
            f"kernel_shape must be that of W, {list(w.shape[2:])}; got {list(kernel_shape)}"
        )


def convolve(x: Array, w: Array, windows: WindowGeometry, group: int, context: RunContext) -> Array:
    """x [N, C, *spatial] with w [M, C/group, *kernel] -> [N, M, *out]; both float32, or both float64."""
    x = pad_input(x, windows, 0, context)
    if w.shape[1] == 1 and group > 1:
        return depthwise(x, w, windows)
    result = np.empty((x.shape[0], w.shape[0], *windows.out), x.dtype)
    if result.size == 0:
        return result
    kernels = w.reshape(group, w.shape[0] // group, math.prod(w.shape[1:]))
    grouped = result.reshape(x.shape[0], group, kernels.shape[1], math.prod(windows.out))
    view = unfold_windows(x, windows)
    if math.prod(windows.kernel) == 1:
        below = view.reshape(x.shape[0], group, kernels.shape[2], grouped.shape[3])
        np.matmul(kernels, below, out=grouped)
    else:
        multiply_columns(kernels, view, grouped, windows)
    return result


def multiply_columns(kernels: Array, view: Array, result: Array, windows: WindowGeometry) -> None:
    """The matrix product of kernels [group, m, k] and columns [k, windows] of each group, block by block.

    view: the im2col view [N, C, *kernel, *out]; result: [N, group, m, windows], the destination.
    """
    rank = len(windows.out)
    inner = math.prod(windows.out[1:])
    buffer = np.empty(0, view.dtype)
    for images, rows in im2col_blocks(view.shape, rank):
        part = view[(images, *full_slices(1 + rank), rows)]
        if buffer.size < part.size:
            buffer = np.empty(part.size, view.dtype)
        columns = buffer[: part.size].reshape(part.shape)
        np.copyto(columns, part)
        first, last = rows.start * inner, rows.stop * inner
        below = columns.reshape(part.shape[0], kernels.shape[0], kernels.shape[2], last - first)
        np.matmul(kernels, below, out=result[images, ..., first:last])


def im2col_blocks(shape: Sequence[int], rank: int) -> Iterator[tuple[slice, slice]]:
    """Slices of the batch and first spatial axis of [N, C, *kernel, *out], about `IM2COL_BLOCK_ELEMENTS` each."""
    count, rows = shape[0], shape[2 + rank]
    image = math.prod(shape[1:])
    if image <= IM2COL_BLOCK_ELEMENTS:
        step = max(IM2COL_BLOCK_ELEMENTS // max(image, 1), 1)
        yield from ((slice(n, min(n + step, count)), slice(0, rows)) for n in range(0, count, step))
        return
    step = max(IM2COL_BLOCK_ELEMENTS * rows // image, 1)
    for n in range(count):
        for row in range(0, rows, step):
            yield slice(n, n + 1), slice(row, min(row + step, rows))


def depthwise(x: Array, w: Array, windows: WindowGeometry) -> Array:
    """Padded x [N, C, *extents] and w [C*m, 1, *kernel] -> [N, C*m, *out]: each channel has its own m kernels."""
    channels = x.shape[1]
    shape = (x.shape[0], channels, w.shape[0] // channels, *windows.out)
    broadcast = (1,) * len(windows.out)
    kernels = w.reshape(channels, shape[2], *windows.kernel)
    result = np.zeros(shape, x.dtype)
    product = np.empty(shape, x.dtype)
    for tap, elements in iterate_taps(x[:, :, None], windows):
        weight = np.moveaxis(kernels, (0, 1), (-2, -1))[tap].reshape(*shape[1:3], *broadcast)
        np.multiply(elements, weight, out=product)
        result += product
    return result.reshape(shape[0], w.shape[0], *windows.out)


def add_bias(y: Array, bias: Array | None) -> Array:
    """y [N, M, *out] plus bias [M], in place."""
    if bias is None:
        return y
    if bias.shape != y.shape[1:2]:
        raise EvaluationError(f"the bias must have shape [{y.shape[1]}]; got {list(bias.shape)}")
    y += bias.reshape(-1, *(1,) * (y.ndim - 2))
    return y


# --- inference -------------------------------------------------------------------------------


def convolution_shape(inference: Inference, x: int, w: int, bias: int | None) -> Shape | None:
    """[N, M, *out], where input x is [N, C, *spatial], input w [M, C/group, *kernel] and input bias [M]."""
    operands = operand_dims(inference, x, w)
    if operands is None:
        return None
    data, weight, kernel = operands
    check_channels(inference, data[1], weight)
    for size in kernel:
        inference.require_at_most(1, size)
    channels = weight[0] if bias is None else merge_bias(inference, weight[0], bias)
    return (data[0], channels, *window_dims(inference, data[2:], kernel))


def operand_dims(inference: Inference, x: int, w: int) -> tuple[Shape, Shape, Shape] | None:
    """The dims of inputs x and w, None where they are not known, and of the kernel; None if not even the rank is known.

    Raises InferenceError where ranks or sizes of x, w and `kernel_shape` contradict each other, or `group` is below 1.
    """
    data, weight = inference.shape(x), inference.shape(w)
    kernel = inference.integers("kernel_shape")
    rank = next((len(s) - 2 for s in (data, weight) if s is not None), None)
    rank = len(kernel) if rank is None and kernel is not None else rank
    if rank is None:
        return None
    data = (None,) * (rank + 2) if data is None else data
    weight = (None,) * (rank + 2) if weight is None else weight
    if rank < 0 or len(data) != len(weight):
        inference.fail(f"x and W must have the same rank >= 2; got {len(data)} and {len(weight)}")
    if (group := inference.integer("group")) < 1:
        inference.fail(f"group must be >= 1; got {group}")
    if kernel is None:
        return data, weight, weight[2:]
    if len(kernel) != rank:
        inference.fail(f"kernel_shape must have {rank} entries; got {len(kernel)}: {list(kernel)}")
    pairs = zip(kernel, weight[2:], strict=True)
    return data, weight, tuple(merge_dims(inference, pair, "kernel_shape and W") for pair in pairs)


def merge_bias(inference: Inference, channels: Dim, bias: int) -> Dim:
    """The output channels, of which input `bias` has one element each."""
    shape = inference.shape(bias)
    if shape is not None and len(shape) != 1:
        inference.fail(f"the bias must have rank 1; got rank {len(shape)}")
    return merge_dims(inference, (channels, *(shape or ())), "the bias and W")


def check_channels(inference: Inference, channels: Dim, weight: Shape) -> None:
    """Raises InferenceError where the `channels` of x, the shape of W and `group` contradict each other."""
    group = inference.integer("group")
    if isinstance(channels, int) and isinstance(weight[1], int) and weight[1] * group != channels:
        inference.fail(f"x must have W[1] * group = {weight[1]} * {group} channels; got {channels}")
    inference.require_equal(channels, dim_mul(weight[1], group))
    if isinstance(weight[0], int) and weight[0] % group:
        inference.fail(f"W[0] must be a multiple of group {group}; got {weight[0]}")
