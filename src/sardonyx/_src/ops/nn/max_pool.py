"""MaxPool: the greatest element below each window, and where it lies.

Spec: ai.onnx MaxPool-1, -8, -10, -11, -12, -22.  Version 8 adds Indices and storage_order, 10 dilations and ceil_mode,
12 the 8-bit integers, and from PyTorch the rule that no window starts in the padding at the end; 22 adds bfloat16.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn import pooling_steps as steps
from sardonyx._src.ops.nn.pooling import lowest, pooling_rounding, pooling_shape, pooling_windows, reduced
from sardonyx._src.ops.nn.windows import Windows, padded, taps

op = Operator("MaxPool")

INSIDE = {12, 22}  # versions in which no window starts in the padding at the end


@op.infer(1, 8, 10, 11, 12, 22)
def infer(t: Inference) -> Result:
    shape = pooling_shape(t, inside=t.version in INSIDE)
    found = t.tensor(0)
    return [found and TensorType(found.dtype, shape), TensorType(DataType.INT64, shape)][: t.outputs]


op.convert((1, 8), (8, 10), (10, 11), (11, 10), (12, 22))(lambda c: c.same())
op.convert((11, 12))(steps.counting_anew)
op.convert((10, 8))(steps.without_ceil_mode)


@op.convert((12, 11))
def to_11(c: Change) -> Converted:
    is_small = c.t.dtype(0) in (DataType.INT8, DataType.UINT8)
    return steps.in_wider_floats(c) if is_small else steps.counting_as_before(c)


@op.convert((22, 12))
def to_12(c: Change) -> Converted:
    return steps.in_wider_floats(c) if c.t.dtype(0) is DataType.BFLOAT16 else c.same()


@op.convert((8, 1))
def to_1(c: Change) -> Converted:
    """Without Indices, of which alone storage_order speaks."""
    indices = c.node.outputs[1] if c.wants(1) else None
    if indices is not None and (indices.uses or indices.is_graph_output):
        c.refuse("it gives no Indices there")
    return c.same(drop=("storage_order",), outputs=1)


@op.eval(1, 8, 10, 11, 12, 22)
def eval_22(
    x: Array,
    *,
    call: Call,
    kernel_shape: tuple[int, ...],
    auto_pad: str,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    ceil_mode: int = 0,
    storage_order: int = 0,
) -> Array | tuple[Array, Array]:
    """x: [N, C, *spatial], results: [N, C, *out], Indices int64 into x as a vector, -1 for a window without elements.

    storage_order 1 counts the spatial axes of Indices from the first on (column-major).  Of equal elements the first
    one in the window is taken; NaN is greater than any number.
    """
    windows = pooling_windows(
        x,
        kernel_shape,
        strides=strides,
        pads=pads,
        auto_pad=auto_pad,
        dilations=dilations,
        rounding=pooling_rounding(ceil_mode, inside=call.version in INSIDE),
    )
    wide = widen(x)
    wide = padded(wide, windows, lowest(wide.dtype), call)
    if len(call.wanted) < 2 or not call.wanted[1]:
        return narrow(reduced(wide, windows, np.maximum), x.dtype)
    top, at = located(wide, windows, call)
    return narrow(top, x.dtype), linear(at, x.shape, column_major=storage_order == 1)


def located(x: Array, windows: Windows, call: Call) -> tuple[Array, Array]:
    """The maxima of x [N, C, *extents], padded, and where they lie in one channel, row-major: [N, C, *out] each."""
    channel = np.arange(math.prod(windows.size)).reshape(1, 1, *windows.size)
    places = padded(channel, windows, -1, call)
    top = np.full((*x.shape[:2], *windows.out), lowest(x.dtype), x.dtype)
    at = np.full(top.shape, -1)
    for (_, value), (_, place) in zip(taps(x, windows), taps(places, windows), strict=True):
        better = (value > top) | (value != value) & (top == top) | (at < 0)
        better &= place >= 0
        np.copyto(top, value, where=better)
        np.copyto(at, np.broadcast_to(place, at.shape), where=better)
    return top, at


def linear(at: Array, shape: tuple[int, ...], *, column_major: bool) -> Array:
    """Places in a channel [N, C, *out] as places in the tensor of `shape` [N, C, *spatial]; -1 stays."""
    if at.size == 0:
        return at
    size = math.prod(shape[2:])
    place = at
    if column_major and size:
        place = np.ravel_multi_index(np.unravel_index(np.maximum(at, 0), shape[2:]), shape[2:], order="F")
    channel = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *(1,) * (at.ndim - 2))
    return np.where(at < 0, -1, channel * size + place)
