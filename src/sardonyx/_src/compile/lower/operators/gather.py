"""Gather along one axis; the kernel checks indices, and a run with an index out of range bails out."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.gather import INDEX_ELEMENTS, gather_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step


@matches("Gather", 13)
def match_gather(op: BoundNode, scope: Scope) -> Region[int] | None:
    data, indices = op.input(0), op.input(1)
    if data is None or indices is None or scope.shape(op.output) is None:
        return None
    if (
        not (scope.is_native(data) and scope.is_native(indices))
        or scope.dtype_of(indices) not in INDEX_ELEMENTS
    ):
        return None
    axis = op.attribute("axis", int) % max(len(scope.known_shape(data)), 1)
    shape, index_shape = scope.known_shape(data), scope.known_shape(indices)
    if scope.known_shape(op.output) != (*shape[:axis], *index_shape, *shape[axis + 1 :]):
        return None
    return Region("Gather", (op.node,), axis, (Read(data), Read(indices)), (Write(op.output),))


@lowers("Gather")
def lower_gather(region: LaidOutRegion[int], lowering: Lowering) -> Step:
    data, indices = region.operands
    return gather_step(data, indices, region.results[0], region.config, lowering.status)
