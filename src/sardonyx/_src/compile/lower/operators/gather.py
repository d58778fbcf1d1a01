"""Gather along one axis; the kernel checks indices, and an index out of range bails out."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.gather import INDEX_ELEMENTS, gather_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode


@lowers("Gather", 13)
def lower_gather(op: BoundNode, lowering: Lowering) -> bool:
    data, indices = op.input(0), op.input(1)
    if data is None or indices is None or lowering.shape(op.output) is None:
        return False
    if (
        not (lowering.is_native(data) and lowering.is_native(indices))
        or lowering.dtype_of(indices) not in INDEX_ELEMENTS
    ):
        return False
    axis = op.attribute("axis", int) % max(len(lowering.known_shape(data)), 1)
    shape, index_shape = lowering.known_shape(data), lowering.known_shape(indices)
    if lowering.known_shape(op.output) != (*shape[:axis], *index_shape, *shape[axis + 1 :]):
        return False
    source, index_tensor = lowering.dense(data), lowering.dense(indices)
    lowering.emit(
        gather_step(source, index_tensor, lowering.allocate_result(op.output), axis, lowering.status)
    )
    return True
