"""MaxUnpool of any element type.  An `output_shape` crops the shape that the attributes imply, or appends zeros to it.

Falls back to the reference kernel if it is not known which of the two shapes is larger along an axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.kernels.data_movement.max_unpool import max_unpool_step
from sardonyx._src.compile.kernels.data_movement.pad import pad_steps
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Shape, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step
from sardonyx._src.ir.dims import Known, known_equal, known_ge


@matches("MaxUnpool", 22)
def match_max_unpool(op: BoundNode, scope: Scope) -> Region[Shape] | None:
    """The region of a node; its config is the shape into which elements are scattered before zeros are appended."""
    x, indices, result = op.input(0), op.input(1), scope.shape(op.output)
    if (
        x is None
        or indices is None
        or result is None
        or not (scope.is_native(x) and scope.is_native(indices))
    ):
        return None
    shape, others = scope.known_shape(x), scope.known_shape(indices)
    expected = unpooled_shape(op, shape)
    if expected is None or len(others) != len(shape) or len(result) != len(shape):
        return None
    pairs = (*zip(shape, others, strict=True), *zip(result[:2], expected[:2], strict=True))
    if not all(scope.guard_equal(*pair) for pair in pairs):
        return None
    clipped = tuple(clipped_size(scope, *pair) for pair in zip(result, expected, strict=True))
    if None in clipped:
        return None
    filled = tuple(size for size in clipped if size is not None)
    return Region("MaxUnpool", (op.node,), filled, (Read(x), Read(indices)), (Write(op.output),))


def clipped_size(scope: Scope, size: Known, implied: Known) -> Known | None:
    """The smaller one of two sizes; None if it is unknown which one is smaller."""
    if known_ge(implied, size):
        return size
    if known_ge(size, implied):
        return implied
    return size if scope.guard_equal(size, implied) else None


def unpooled_shape(op: BoundNode, x_shape: tuple[Known, ...]) -> tuple[Known, ...] | None:
    """The dims that the attributes imply, without pads if there is an output_shape; None for invalid attributes."""
    kernel = op.ints("kernel_shape")
    rank = len(x_shape) - 2
    if kernel is None or len(kernel) != rank:
        return None
    strides = op.ints("strides") or (1,) * rank
    pads = (op.ints("pads") if op.input(2) is None else None) or (0,) * (2 * rank)
    if len(strides) != rank or len(pads) != 2 * rank or min((*strides, 1)) < 1 or min((*pads, 0)) < 0:
        return None
    spatial = tuple(
        (size - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[rank + axis]
        for axis, size in enumerate(x_shape[2:])
    )
    return (*x_shape[:2], *spatial)


@lowers("MaxUnpool")
def lower_max_unpool(region: LaidOutRegion[Shape], lowering: Lowering) -> Sequence[Step]:
    (x, indices), (y,), shape = region.operands, region.results, region.config
    if all(known_equal(a, b) for a, b in zip(shape, y.shape, strict=True)):
        return (max_unpool_step(x, indices, y, lowering.status),)
    placed = lowering.temporary(y.dtype, shape, f"{region.name}.placed")
    scatter = max_unpool_step(x, indices, placed, lowering.status)
    return scatter, *pad_steps(placed, y, (0,) * y.rank, "constant", np.zeros((), y.dtype.numpy))
