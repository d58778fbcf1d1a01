"""Window geometry of Conv and pooling nodes: kernel, strides, dilations and pads over two spatial dims.

A window over one spatial dim becomes a window over two of height 1, so that kernels are written for images only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WindowGeometry2D:
    """A window over two spatial dims, each pair (height, width).  pads: top, left, bottom, right."""

    kernel: Pair
    strides: Pair
    dilations: Pair
    pads: tuple[int, int, int, int]

    @property
    def is_unit_3x3(self) -> bool:
        """Whether the window is 3 by 3 with unit strides and dilations, as Winograd convolution requires."""
        return self.kernel == (3, 3) and self.strides == self.dilations == (1, 1)


def window_geometry(
    op: BoundNode, sizes: tuple[Known, ...], kernel: tuple[int, ...]
) -> WindowGeometry2D | None:
    """The window of a node over spatial dims of these sizes; a single spatial dim becomes the width.

    None for more than two spatial dims, for negative pads, and for `auto_pad` over sizes that are not constant.
    """
    num_dims = len(sizes)
    if num_dims not in (1, 2) or len(kernel) != num_dims:
        return None
    strides = op.ints("strides") or (1,) * num_dims
    dilations = op.ints("dilations") or (1,) * num_dims
    pads = resolve_padding(op, sizes, kernel, strides, dilations)
    if pads is None or min((*pads, 0)) < 0 or min((*strides, *dilations, *kernel)) < 1:
        return None
    if num_dims == 1:
        kernel, strides, dilations = (1, *kernel), (1, *strides), (1, *dilations)
        pads = (0, pads[0], 0, pads[1])
    a, b, c, d = pads
    return WindowGeometry2D(as_pair(kernel), as_pair(strides), as_pair(dilations), (a, b, c, d))


def as_pair(values: tuple[int, ...]) -> Pair:
    a, b = values
    return a, b


def resolve_padding(
    op: BoundNode,
    sizes: tuple[Known, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> tuple[int, ...] | None:
    """The pads before each dim, then after each; None if they depend on sizes that are not constant."""
    auto_pad = op.attributes.get("auto_pad", "NOTSET")
    if auto_pad in ("NOTSET", ""):
        return op.ints("pads") or (0,) * (2 * len(sizes))
    if auto_pad == "VALID":
        return (0,) * (2 * len(sizes))
    pads_before, pads_after = [], []
    for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        if not isinstance(size, int):
            return None
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        begin = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
        pads_before.append(begin)
        pads_after.append(total - begin)
    return (*pads_before, *pads_after)


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
