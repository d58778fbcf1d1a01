"""Window geometry of Conv and pooling nodes: kernel, strides, dilations and pads over two spatial dims.

A window over one spatial dim becomes a window over two of height 1, so that kernels are written for images only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sardonyx._src.compile.kernels.channels_last.sliding_window import SlidingWindow
from sardonyx._src.compile.partition import BoundNode, Scope
from sardonyx._src.compile.program import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

Pair = tuple[int, int]


def window_geometry(op: BoundNode, sizes: tuple[Known, ...], kernel: tuple[int, ...]) -> SlidingWindow | None:
    """The window of a node over spatial dims of these sizes; a single spatial dim becomes the width.

    None for more than two spatial dims, and for negative pads.
    """
    num_dims = len(sizes)
    if num_dims not in (1, 2) or len(kernel) != num_dims:
        return None
    attributes = window_attributes(op, sizes, kernel)
    if attributes is None:
        return None
    strides, dilations, pads = attributes
    if num_dims == 1:
        kernel, strides, dilations = (1, *kernel), (1, *strides), (1, *dilations)
        pads = (0, pads[0], 0, pads[1])
    a, b, c, d = pads
    return SlidingWindow(as_pair(kernel), as_pair(strides), as_pair(dilations), (a, b, c, d))


def window_attributes(
    op: BoundNode, sizes: tuple[Known, ...], kernel: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[Known, ...]] | None:
    """The strides, dilations and pads of a window, in each spatial dim; None if one of them is out of range."""
    ones = (1,) * len(sizes)
    strides, dilations = op.ints("strides") or ones, op.ints("dilations") or ones
    if min((*strides, *dilations, *kernel)) < 1:
        return None
    pads = resolve_padding(op, sizes, kernel, strides, dilations)
    is_negative = any(isinstance(pad, int) and pad < 0 for pad in pads)
    return None if is_negative else (strides, dilations, pads)


def as_pair(values: tuple[int, ...]) -> Pair:
    a, b = values
    return a, b


def resolve_padding(
    op: BoundNode,
    sizes: tuple[Known, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> tuple[Known, ...]:
    """The pads before each dim, then after each; those of `auto_pad` are expressions of sizes that are not constant."""
    auto_pad = op.attributes.get("auto_pad", "NOTSET")
    if auto_pad in ("NOTSET", ""):
        return op.ints("pads") or (0,) * (2 * len(sizes))
    if auto_pad == "VALID":
        return (0,) * (2 * len(sizes))
    totals = [same_padding(*dim) for dim in zip(sizes, kernel, strides, dilations, strict=True)]
    first = [total // 2 for total in totals]
    second = [total - half for total, half in zip(totals, first, strict=True)]
    return (*first, *second) if auto_pad == "SAME_UPPER" else (*second, *first)


def same_padding(size: Known, kernel: int, stride: int, dilation: int) -> Known:
    """The elements that `auto_pad` adds to a dim in total, so that the result has ceil(size / stride) elements."""
    reach = (kernel - 1) * dilation
    # The formula below gives `reach` as well, but for symbolic sizes no arithmetic proves that.
    if stride == 1 or reach == 0:
        return reach
    return dim_max((ceil_div(size, stride) - 1) * stride + reach + 1 - size, 0)


def is_image(scope: Scope, x: Value | None, types: Collection[DataType] = (DataType.FLOAT,)) -> bool:
    """Whether a value is a native tensor of one of the types, with one or two spatial dims."""
    if x is None or not scope.is_native(x) or scope.dtype_of(x) not in types:
        return False
    return len(scope.known_shape(x)) in (3, 4)


def as_image(tensor: TensorView) -> TensorView:
    """A tensor [N, W, C] as [N, 1, W, C]; a tensor [N, H, W, C] unchanged."""
    if tensor.rank != 3:
        return tensor
    shape, strides = tensor.shape, tensor.strides
    return replace(
        tensor,
        shape=(shape[0], 1, *shape[1:]),
        strides=(strides[0], shape[1] * strides[1], *strides[1:]),
    )
