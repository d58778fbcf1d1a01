"""Windows of Conv and pooling nodes: kernel, strides, dilations and pads.

A window over one spatial dim becomes a window over two of height 1, so that kernels are written for images only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sardonyx._src.compile.partition import BoundNode, Scope
from sardonyx._src.compile.program import TensorView
from sardonyx._src.compile.program.operands.window import Window, window_of_attributes
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known, ceil_div, dim_max


def image_window(op: BoundNode, sizes: tuple[Known, ...], kernel: tuple[int, ...]) -> Window | None:
    """The window of a node over spatial dims of these sizes; a single spatial dim becomes the width.

    None for more than two spatial dims, and for attributes that `node_window` does not accept.
    """
    if len(sizes) not in (1, 2) or len(kernel) != len(sizes):
        return None
    window = node_window(op, sizes, kernel)
    return None if window is None else window.as_image()


def node_window(op: BoundNode, sizes: tuple[Known, ...], kernel: tuple[int, ...]) -> Window | None:
    """The window of a node over any number of spatial dims; None for negative pads, and for other numbers below 1."""
    ones = (1,) * len(sizes)
    strides, dilations = op.ints("strides") or ones, op.ints("dilations") or ones
    if min((*strides, *dilations, *kernel)) < 1:
        return None
    pads = resolve_padding(op, sizes, kernel, strides, dilations)
    is_negative = any(isinstance(pad, int) and pad < 0 for pad in pads)
    return None if is_negative else window_of_attributes(kernel, strides, dilations, pads)


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
