"""MaxPool: the maximum of each window, and its position.

Spec: ai.onnx MaxPool-1, -8, -10, -11, -12, -22.  Version 8 adds Indices and storage_order, 10 dilations and ceil_mode,
12 the 8-bit integers and the rule, as in PyTorch, that no window starts in the padding at the end; 22 adds bfloat16.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn import pooling_steps as steps
from sardonyx._src.ops.nn.pooling import (
    Parts,
    lowest,
    pooling_rounding,
    pooling_shape,
    pooling_windows,
    reduce_axis,
    reduce_windows,
)
from sardonyx._src.ops.nn.windows import AUTO_PADS, WindowGeometry, pad_input
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "MaxPool",
    exact_in_half=True,
    computes_in_float32=True,
    enum_attributes={"auto_pad": enum_values(*AUTO_PADS)},
)

MAX_STARTS_INSIDE = {12, 22}  # versions in which no window starts in the padding at the end


@op.infer(1, 8, 10, 11, 12, 22)
def infer(inference: Inference) -> Result:
    shape = pooling_shape(inference, inside=inference.version in MAX_STARTS_INSIDE)
    data = inference.tensor(0)
    return [data and TensorType(data.dtype, shape), TensorType(DataType.INT64, shape)][: inference.outputs]


op.convert((1, 8), (8, 10), (10, 11), (11, 10), (12, 22))(keep)
op.convert((11, 12))(steps.upgrade_window_count)
op.convert((10, 8))(steps.remove_ceil_mode)


@op.convert((12, 11))
def to_11(adapter: Adapter) -> AdaptedNode:
    is_small = adapter.inference.dtype(0) in (DataType.INT8, DataType.UINT8)
    return steps.convert_through_float(adapter) if is_small else steps.downgrade_window_count(adapter)


@op.convert((22, 12))
def to_12(adapter: Adapter) -> AdaptedNode:
    return (
        steps.convert_through_float(adapter)
        if adapter.inference.dtype(0) is DataType.BFLOAT16
        else adapter.same()
    )


@op.convert((8, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    """Drop storage_order, which affects only Indices, an output that version 1 does not have."""
    indices = adapter.node.outputs[1] if adapter.has_output(1) else None
    if indices is not None and (indices.uses or indices.is_graph_output):
        adapter.refuse("the output Indices must be unused: MaxPool-1 does not have it")
    return adapter.same(drop=("storage_order",), outputs=1)


@op.eval(1, 8, 10, 11, 12, 22)
def eval_22(
    x: Array,
    *,
    context: RunContext,
    kernel_shape: tuple[int, ...],
    auto_pad: str,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    ceil_mode: int = 0,
    storage_order: int = 0,
) -> Array | tuple[Array, Array]:
    """x: [N, C, *spatial]; results: the maxima and Indices, int64, [N, C, *out] each.

    Indices are positions in x flattened to a vector, or -1 for a window that covers no element of x.

    storage_order 1 makes Indices column-major in the spatial axes.  Among equal elements the first in the window
    wins; NaN is greater than any number.
    """
    windows = pooling_windows(
        x,
        kernel_shape,
        strides=strides,
        pads=pads,
        auto_pad=auto_pad,
        dilations=dilations,
        rounding=pooling_rounding(ceil_mode, inside=context.version in MAX_STARTS_INSIDE),
    )
    promoted = promote_to_float32(x)
    if len(context.requested_outputs) < 2 or not context.requested_outputs[1]:
        top = reduce_windows(promoted, windows, np.maximum, lowest(promoted.dtype), context)
        return round_to_type(top, x.dtype)
    check_result_bytes(
        context, (*x.shape[:2], *windows.extents), np.int64, "the positions of the padded input"
    )
    promoted = pad_input(promoted, windows, lowest(promoted.dtype), context)
    top, positions = argmax_windows(promoted, windows, context)
    return round_to_type(top, x.dtype), flat_indices(positions, x.shape, column_major=storage_order == 1)


def argmax_windows(x: Array, windows: WindowGeometry, context: RunContext) -> tuple[Array, Array]:
    """The maxima of padded x [N, C, *extents] and their row-major positions in the channel: [N, C, *out] each.

    Axes are reduced from the last to the first, so that the first of equal elements in row-major order wins.
    """
    channel = np.arange(math.prod(windows.size)).reshape(1, 1, *windows.size)
    positions = np.broadcast_to(pad_input(channel, windows, -1, context), x.shape)
    parts: Parts = (x, positions)
    for i in reversed(range(len(windows.size))):
        parts = reduce_axis(parts, windows, i, first_of_greatest)
    top, positions = parts
    return top, positions


def first_of_greatest(a: Parts, b: Parts) -> Parts:
    """The greater values of a and b with their positions, those of a where both are equal; padding (-1) never wins."""
    (top, first), (value, position) = a, b
    better = (value > top) | (value != value) & (top == top) | (first < 0)
    better &= position >= 0
    return np.where(better, value, top), np.where(better, position, first)


def flat_indices(positions: Array, shape: tuple[int, ...], *, column_major: bool) -> Array:
    """Positions in a channel [N, C, *out] as flat indices into the tensor of `shape` [N, C, *spatial]; -1 stays."""
    if positions.size == 0:
        return positions
    size = math.prod(shape[2:])
    position = positions
    if column_major and size:
        position = np.ravel_multi_index(
            np.unravel_index(np.maximum(positions, 0), shape[2:]), shape[2:], order="F"
        )
    channel = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *(1,) * (positions.ndim - 2))
    return np.where(positions < 0, -1, channel * size + position)
