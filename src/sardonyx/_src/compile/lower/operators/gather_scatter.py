"""GatherElements, GatherND, ScatterElements and ScatterND; kernels check indices, and one out of range bails out.

Falls back to the reference kernel for dynamic lengths of index tuples, and for reductions that have no kernel.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.gather import (
    INDEX_ELEMENTS,
    covers_indices,
    gather_elements_step,
    gather_nd_step,
    scatter_elements_steps,
    scatter_nd_steps,
)
from sardonyx._src.compile.kernels.data_movement.scatter_reduction import NATIVE_SCATTER_REDUCTIONS
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.graph import Value


@lowers("GatherElements", 13)
def lower_gather_elements(op: BoundNode, lowering: Lowering) -> bool:
    data, indices = op.input(0), op.input(1)
    if data is None or indices is None or not are_readable(op, lowering, data, indices):
        return False
    axis = indexed_axis(op, lowering, data, indices)
    if axis is None or lowering.shape(op.output) != lowering.shape(indices):
        return False
    source, index_tensor = lowering.any_layout(data), lowering.dense(indices)
    step = gather_elements_step(
        source, index_tensor, lowering.allocate_result(op.output), axis, lowering.status
    )
    assert step is not None, "the indices do not exceed the data along other axes"
    lowering.emit(step)
    return True


def are_readable(op: BoundNode, lowering: Lowering, data: Value, indices: Value) -> bool:
    """Whether data and indices are native, and the shape of the output is known."""
    if lowering.dtype_of(indices) not in INDEX_ELEMENTS or lowering.shape(op.output) is None:
        return False
    return lowering.is_native(data) and lowering.is_native(indices)


def indexed_axis(op: BoundNode, lowering: Lowering, data: Value, indices: Value) -> int | None:
    """The indexed axis; None if indices may exceed the data along another axis."""
    rank, axis = len(lowering.known_shape(data)), op.attribute("axis", int)
    if len(lowering.known_shape(indices)) != rank or not -rank <= axis < rank:
        return None
    return (
        axis % rank
        if covers_indices(lowering.any_layout(indices), lowering.any_layout(data), axis % rank)
        else None
    )


@lowers("GatherND", 13)
def lower_gather_nd(op: BoundNode, lowering: Lowering) -> bool:
    data, indices, batch = op.input(0), op.input(1), op.attribute("batch_dims", int)
    if data is None or indices is None or not are_readable(op, lowering, data, indices):
        return False
    shape, index_shape = lowering.known_shape(data), lowering.known_shape(indices)
    if not 0 <= batch < min(len(shape), len(index_shape)) or shape[:batch] != index_shape[:batch]:
        return False
    depth = index_shape[-1]
    if not isinstance(depth, int) or not 1 <= depth <= len(shape) - batch:
        return False
    if lowering.shape(op.output) != (*index_shape[:-1], *shape[batch + depth :]):
        return False
    source, index_tensor = lowering.any_layout(data), lowering.dense(indices)
    step = gather_nd_step(source, index_tensor, lowering.allocate_result(op.output), batch, lowering.status)
    assert step is not None, "the length of index tuples is constant"
    lowering.emit(step)
    return True


@lowers("ScatterElements", 18)
def lower_scatter_elements(op: BoundNode, lowering: Lowering) -> bool:
    data, indices, updates = op.input(0), op.input(1), op.input(2)
    if (
        data is None
        or indices is None
        or updates is None
        or not is_supported_scatter(op, lowering, data, indices, updates)
    ):
        return False
    axis = indexed_axis(op, lowering, data, indices)
    if axis is None or lowering.shape(updates) != lowering.shape(indices):
        return False
    source, index_tensor, update_tensor = (
        lowering.any_layout(data),
        lowering.dense(indices),
        lowering.any_layout(updates),
    )
    reduction = op.attribute("reduction", str)
    steps = scatter_elements_steps(
        source,
        index_tensor,
        update_tensor,
        lowering.allocate_result(op.output),
        axis,
        lowering.status,
        reduction=reduction,
    )
    assert steps is not None, "the indices do not exceed the data along other axes"
    lowering.emit(*steps)
    return True


def is_supported_scatter(
    op: BoundNode, lowering: Lowering, data: Value, indices: Value, updates: Value
) -> bool:
    """Whether operands are native, and the reduction is none or one that has a kernel."""
    is_plain = op.attributes["reduction"] == "none"
    is_known = (
        op.attributes["reduction"] in NATIVE_SCATTER_REDUCTIONS
        and lowering.dtype_of(data) in NUMERIC_ELEMENTS
    )
    if not (is_plain or is_known) or not are_readable(op, lowering, data, indices):
        return False
    if not lowering.is_native(updates) or lowering.dtype_of(updates) is not lowering.dtype_of(data):
        return False
    return lowering.shape(op.output) == lowering.shape(data)


@lowers("ScatterND", 18)
def lower_scatter_nd(op: BoundNode, lowering: Lowering) -> bool:
    data, indices, updates = op.input(0), op.input(1), op.input(2)
    if (
        data is None
        or indices is None
        or updates is None
        or not is_supported_scatter(op, lowering, data, indices, updates)
    ):
        return False
    shape, index_shape = lowering.known_shape(data), lowering.known_shape(indices)
    depth = index_shape[-1] if index_shape else 0
    if not isinstance(depth, int) or not 1 <= depth <= len(shape):
        return False
    if lowering.shape(updates) != (*index_shape[:-1], *shape[depth:]):
        return False
    source, index_tensor, update_tensor = (
        lowering.any_layout(data),
        lowering.dense(indices),
        lowering.any_layout(updates),
    )
    reduction = op.attribute("reduction", str)
    steps = scatter_nd_steps(
        source,
        index_tensor,
        update_tensor,
        lowering.allocate_result(op.output),
        lowering.status,
        reduction=reduction,
    )
    assert steps is not None, "the length of index tuples is constant"
    lowering.emit(*steps)
    return True
