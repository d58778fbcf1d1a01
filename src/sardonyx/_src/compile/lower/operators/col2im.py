"""Col2Im of numbers into images of constant sizes, with one or two spatial axes."""

from __future__ import annotations

import math

from sardonyx._src.compile.kernels.elementwise.operators import NUMBERS
from sardonyx._src.compile.kernels.pooling.fold_columns import fold_columns_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.operands.window_geometry import image_window
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step, Window
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FoldedColumns:
    """The parameters of a Col2Im.

    blocks: the number of blocks along each of two axes.
    """

    window: Window
    blocks: tuple[int, int]


@matches("Col2Im", 18)
def match_col2im(op: BoundNode, scope: Scope) -> Region[FoldedColumns] | None:
    x, block = op.input(0), scope.vector(op.input(2))
    if x is None or block is None or not scope.is_native(x) or scope.dtype(x) not in NUMBERS:
        return None
    result, columns = scope.shape(op.output), scope.known_shape(x)
    kernel = tuple(n for n in block.tolist() if isinstance(n, int))
    if result is None or len(columns) != 3 or len(kernel) != len(block) or len(result) != len(kernel) + 2:
        return None
    sizes = tuple(dim for dim in result[2:] if isinstance(dim, int))
    window = image_window(op, sizes, kernel) if len(sizes) == len(kernel) else None
    if window is None:
        return None
    height, width = sizes if len(sizes) == 2 else (1, *sizes)
    blocks = count_blocks(height, window, 0), count_blocks(width, window, 1)
    if min(blocks) < 1 or not scope.guard_required_equal(columns[2], math.prod(blocks)):
        return None
    if not scope.guard_required_equal(columns[1], result[1] * window.num_taps):
        return None
    return Region("Col2Im", (op.node,), FoldedColumns(window, blocks), (Read(x),), (Write(op.output),))


def count_blocks(size: int, window: Window, axis: int) -> int:
    """The number of blocks along an axis of `size` elements."""
    begin, end = window.begin_pads[axis], window.end_pads[axis]
    assert isinstance(begin, int) and isinstance(end, int), f"pads must be numbers; got {begin}, {end}"
    return (size + begin + end - window.spans[axis]) // window.strides[axis] + 1


@lowers("Col2Im")
def lower_col2im(region: LaidOutRegion[FoldedColumns], lowering: Lowering) -> Step:
    (x,), (y,), config = region.operands, region.results, region.config
    images, channels, *sizes = y.shape
    image = y if len(sizes) == 2 else y.reshape((images, channels, 1, *sizes))
    return fold_columns_step(x, image, config.window, config.blocks)
