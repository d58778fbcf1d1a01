"""MaxUnpool of any element type; falls back where `output_shape` is not the shape that the attributes imply."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.max_unpool import max_unpool_step
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.region import Read, Region, Write
from sardonyx._src.compile.partition.registry import matches
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.step import Step
from sardonyx._src.ir.dims import Known


@matches("MaxUnpool", 22)
def match_max_unpool(op: BoundNode, scope: Scope) -> Region[None] | None:
    x, places, result = op.input(0), op.input(1), scope.shape(op.output)
    if x is None or places is None or result is None or not (scope.is_native(x) and scope.is_native(places)):
        return None
    shape, others = scope.known_shape(x), scope.known_shape(places)
    expected = unpooled_shape(op, shape)
    if expected is None or len(others) != len(shape) or len(result) != len(shape):
        return None
    pairs = (*zip(shape, others, strict=True), *zip(result, expected, strict=True))
    if not all(scope.guard_equal(*pair) for pair in pairs):
        return None
    return Region("MaxUnpool", (op.node,), None, (Read(x), Read(places)), (Write(op.output),))


def unpooled_shape(op: BoundNode, x_shape: tuple[Known, ...]) -> tuple[Known, ...] | None:
    """The dims that the attributes imply, without pads if there is an output_shape; None if they do not fit."""
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
def lower_max_unpool(region: LaidOutRegion[None], lowering: Lowering) -> Step:
    x, places = region.operands
    return max_unpool_step(x, places, region.results[0], lowering.status)
