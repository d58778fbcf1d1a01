"""Convolution as matrix products over the elements below each window, block by block.

Of each block of windows the elements are gathered into columns (im2col) that stay in the cache, and one product for
each group turns them into outputs.  Kernels of one tap need no columns; a depthwise kernel needs no product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape
from sardonyx._src.ops.api import Call
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.windows import Windows, gathered, padded, place, taps, whole, window_dims
from sardonyx._src.ops.shapes import merge_dims

BLOCK = 1 << 20  # elements of columns at a time: 4 MiB of float32


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
) -> Windows:
    """The windows of a convolution of x [N, C, *spatial] with w [M, C/group, *kernel].

    Raises EvaluationError when x, w, `group` and `kernel_shape` contradict each other.
    """
    if x.ndim < 2 or x.ndim != w.ndim:
        raise EvaluationError(
            f"x of rank {x.ndim} and W of rank {w.ndim}: the same rank of at least 2 is wanted"
        )
    if group < 1 or w.shape[0] % group or w.shape[1] * group != x.shape[1]:
        what = f"x has {x.shape[1]} channels, W is {list(w.shape)} and group is {group}"
        raise EvaluationError(
            f"{what}: W[1] * group channels are wanted, and a multiple of group of them in W[0]"
        )
    if kernel_shape is not None and tuple(kernel_shape) != w.shape[2:]:
        raise EvaluationError(f"kernel_shape is {list(kernel_shape)}, W has {list(w.shape[2:])}")
    return place(x.shape[2:], w.shape[2:], strides=strides, pads=pads, dilations=dilations, auto_pad=auto_pad)


def convolve(x: Array, w: Array, windows: Windows, group: int, call: Call) -> Array:
    """x [N, C, *spatial] with w [M, C/group, *kernel] -> [N, M, *out]; both float32, or both float64."""
    x = padded(x, windows, 0, call)
    if w.shape[1] == 1 and group > 1:
        return depthwise(x, w, windows)
    result = np.empty((x.shape[0], w.shape[0], *windows.out), x.dtype)
    if result.size == 0:
        return result
    kernels = w.reshape(group, w.shape[0] // group, math.prod(w.shape[1:]))
    grouped = result.reshape(x.shape[0], group, kernels.shape[1], math.prod(windows.out))
    view = gathered(x, windows)
    if math.prod(windows.kernel) == 1:
        below = view.reshape(x.shape[0], group, kernels.shape[2], grouped.shape[3])
        np.matmul(kernels, below, out=grouped)
    else:
        multiply_columns(kernels, view, grouped, windows)
    return result


def multiply_columns(kernels: Array, view: Array, result: Array, windows: Windows) -> None:
    """The matrix product of kernels [group, m, k] and columns [k, windows] of each group, block by block.

    view: what lies below the windows, [N, C, *kernel, *out]; result: [N, group, m, windows], which is written to.
    """
    rank = len(windows.out)
    inner = math.prod(windows.out[1:])
    buffer = np.empty(0, view.dtype)
    for images, rows in blocks(view.shape, rank):
        part = view[(images, *whole(1 + rank), rows)]
        if buffer.size < part.size:
            buffer = np.empty(part.size, view.dtype)
        columns = buffer[: part.size].reshape(part.shape)
        np.copyto(columns, part)
        first, last = rows.start * inner, rows.stop * inner
        below = columns.reshape(part.shape[0], kernels.shape[0], kernels.shape[2], last - first)
        np.matmul(kernels, below, out=result[images, ..., first:last])


def blocks(shape: Sequence[int], rank: int) -> Iterator[tuple[slice, slice]]:
    """Slices of the images and of the first spatial axis of [N, C, *kernel, *out] with about `BLOCK` elements each."""
    count, rows = shape[0], shape[2 + rank]
    image = math.prod(shape[1:])
    if image <= BLOCK:
        step = max(BLOCK // max(image, 1), 1)
        yield from ((slice(n, min(n + step, count)), slice(0, rows)) for n in range(0, count, step))
        return
    step = max(BLOCK * rows // image, 1)
    for n in range(count):
        for row in range(0, rows, step):
            yield slice(n, n + 1), slice(row, min(row + step, rows))


def depthwise(x: Array, w: Array, windows: Windows) -> Array:
    """x [N, C, *extents], padded, with w [C*m, 1, *kernel] -> [N, C*m, *out]: each channel with its own m kernels."""
    channels = x.shape[1]
    shape = (x.shape[0], channels, w.shape[0] // channels, *windows.out)
    spread = (1,) * len(windows.out)
    kernels = w.reshape(channels, shape[2], *windows.kernel)
    result = np.zeros(shape, x.dtype)
    product = np.empty(shape, x.dtype)
    for tap, elements in taps(x[:, :, None], windows):
        weight = np.moveaxis(kernels, (0, 1), (-2, -1))[tap].reshape(*shape[1:3], *spread)
        np.multiply(elements, weight, out=product)
        result += product
    return result.reshape(shape[0], w.shape[0], *windows.out)


def biased(y: Array, bias: Array | None) -> Array:
    """y [N, M, *out] plus bias [M], in place."""
    if bias is None:
        return y
    if bias.shape != y.shape[1:2]:
        raise EvaluationError(f"the bias has shape {list(bias.shape)}, [{y.shape[1]}] is wanted")
    y += bias.reshape(-1, *(1,) * (y.ndim - 2))
    return y


# --- inference -------------------------------------------------------------------------------


def convolution_shape(t: Inference, x: int, w: int, bias: int | None) -> Shape | None:
    """[N, M, *out], where input x is [N, C, *spatial], input w [M, C/group, *kernel] and input bias [M]."""
    data, weight = t.shape(x), t.shape(w)
    kernel = t.integers("kernel_shape")
    rank = next((len(s) - 2 for s in (data, weight) if s is not None), None)
    rank = len(kernel) if rank is None and kernel is not None else rank
    if rank is None:
        return None
    data = (None,) * (rank + 2) if data is None else data
    weight = (None,) * (rank + 2) if weight is None else weight
    if rank < 0 or len(data) != len(weight):
        t.fail(f"x has rank {len(data)} and W rank {len(weight)}: the same rank of at least 2 is wanted")
    check_channels(t, data[1], weight)
    taps_ = weight[2:]
    if kernel is not None and len(kernel) == rank:
        taps_ = tuple(merge_dims(t, pair, "kernel_shape and W") for pair in zip(kernel, taps_, strict=True))
    elif kernel is not None:
        t.fail(f"kernel_shape {list(kernel)} has {len(kernel)} entries, {rank} are wanted")
    channels = weight[0]
    if bias is not None and (given := t.shape(bias)) is not None:
        if len(given) != 1:
            t.fail(f"the bias has rank {len(given)}, not 1")
        channels = merge_dims(t, (channels, given[0]), "the bias and W")
    return (data[0], channels, *window_dims(t, data[2:], taps_))


def check_channels(t: Inference, channels: Dim, weight: Shape) -> None:
    group = t.integer("group")
    if group < 1:
        t.fail(f"group is {group}, at least 1 is wanted")
    if isinstance(channels, int) and isinstance(weight[1], int) and weight[1] * group != channels:
        t.fail(f"W takes {weight[1]} * {group} channels (W[1] * group), x has {channels}")
    if isinstance(weight[0], int) and weight[0] % group:
        t.fail(f"W makes {weight[0]} channels, which group {group} does not divide")
