"""GatherElements, GatherND, ScatterElements and ScatterND; kernels check indices, and a run with one out of range bails out.

Falls back to the reference kernel for dynamic lengths of index tuples, and for reductions that have no kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.data_movement.gather import (
    INDEX_ELEMENTS,
    gather_elements_step,
    gather_nd_step,
    scatter_elements_steps,
    scatter_nd_steps,
)
from sardonyx._src.compile.kernels.data_movement.scatter_reduction import NATIVE_SCATTER_REDUCTIONS
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import known_ge


@matches("GatherElements", 13)
def match_gather_elements(op: BoundNode, scope: Scope) -> Region[int] | None:
    data, indices = op.input(0), op.input(1)
    if data is None or indices is None or not are_readable(op, scope, data, indices):
        return None
    axis = indexed_axis(op, scope, data, indices)
    if axis is None or scope.shape(op.output) != scope.shape(indices):
        return None
    return Region("GatherElements", (op.node,), axis, (Read(data, ANY), Read(indices)), (Write(op.output),))


@lowers("GatherElements")
def lower_gather_elements(region: LaidOutRegion[int], lowering: Lowering) -> Step:
    data, indices = region.operands
    return gather_elements_step(data, indices, region.results[0], region.config, lowering.status)


def are_readable(op: BoundNode, scope: Scope, data: Value, indices: Value) -> bool:
    """Whether data and indices are native, and the shape of the output is known."""
    if scope.dtype_of(indices) not in INDEX_ELEMENTS or scope.shape(op.output) is None:
        return False
    return scope.is_native(data) and scope.is_native(indices)


def indexed_axis(op: BoundNode, scope: Scope, data: Value, indices: Value) -> int | None:
    """The indexed axis; None if indices may exceed the data along another axis."""
    rank, axis = len(scope.known_shape(data)), op.attribute("axis", int)
    if len(scope.known_shape(indices)) != rank or not -rank <= axis < rank:
        return None
    axis %= rank
    pairs = enumerate(zip(scope.known_shape(data), scope.known_shape(indices), strict=True))
    return axis if all(d == axis or known_ge(size, count) is True for d, (size, count) in pairs) else None


@matches("GatherND", 13)
def match_gather_nd(op: BoundNode, scope: Scope) -> Region[int] | None:
    data, indices, batch = op.input(0), op.input(1), op.attribute("batch_dims", int)
    if data is None or indices is None or not are_readable(op, scope, data, indices):
        return None
    shape, index_shape = scope.known_shape(data), scope.known_shape(indices)
    if not 0 <= batch < min(len(shape), len(index_shape)) or shape[:batch] != index_shape[:batch]:
        return None
    depth = index_shape[-1]
    if not isinstance(depth, int) or not 1 <= depth <= len(shape) - batch:
        return None
    if scope.shape(op.output) != (*index_shape[:-1], *shape[batch + depth :]):
        return None
    return Region("GatherND", (op.node,), batch, (Read(data, ANY), Read(indices)), (Write(op.output),))


@lowers("GatherND")
def lower_gather_nd(region: LaidOutRegion[int], lowering: Lowering) -> Step:
    data, indices = region.operands
    return gather_nd_step(data, indices, region.results[0], region.config, lowering.status)


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter of updates into a copy of data.

    axis: the axis of ScatterElements; None for ScatterND.
    """

    axis: int | None
    reduction: str


def scatter_region(op: BoundNode, operands: tuple[Value, Value, Value], axis: int | None) -> Region[Scatter]:
    (data, indices, updates), config = operands, Scatter(axis, op.attribute("reduction", str))
    reads = (Read(data, ANY), Read(indices), Read(updates, ANY))
    return Region("Scatter", (op.node,), config, reads, (Write(op.output),))


@matches("ScatterElements", 18)
def match_scatter_elements(op: BoundNode, scope: Scope) -> Region[Scatter] | None:
    operands = scatter_operands(op, scope)
    axis = None if operands is None else indexed_axis(op, scope, *operands[:2])
    if operands is None or axis is None or scope.shape(operands[2]) != scope.shape(operands[1]):
        return None
    return scatter_region(op, operands, axis)


def scatter_operands(op: BoundNode, scope: Scope) -> tuple[Value, Value, Value] | None:
    """Data, indices and updates; None unless they are native, and there is no reduction or one with a kernel."""
    data, indices, updates = op.input(0), op.input(1), op.input(2)
    if data is None or indices is None or updates is None or not are_readable(op, scope, data, indices):
        return None
    reduction, dtype = op.attributes["reduction"], scope.dtype_of(data)
    if reduction != "none" and (reduction not in NATIVE_SCATTER_REDUCTIONS or dtype not in NUMERIC_ELEMENTS):
        return None
    if not scope.is_native(updates) or scope.dtype_of(updates) is not dtype:
        return None
    return (data, indices, updates) if scope.shape(op.output) == scope.shape(data) else None


@matches("ScatterND", 18)
def match_scatter_nd(op: BoundNode, scope: Scope) -> Region[Scatter] | None:
    operands = scatter_operands(op, scope)
    if operands is None:
        return None
    shape, index_shape, update_shape = map(scope.known_shape, operands)
    depth = index_shape[-1] if index_shape else 0
    if not isinstance(depth, int) or not 1 <= depth <= len(shape):
        return None
    if update_shape != (*index_shape[:-1], *shape[depth:]):
        return None
    return scatter_region(op, operands, None)


@lowers("Scatter")
def lower_scatter(region: LaidOutRegion[Scatter], lowering: Lowering) -> Sequence[Step]:
    (data, indices, updates), y, config = region.operands, region.results[0], region.config
    if config.axis is None:
        return scatter_nd_steps(data, indices, updates, y, lowering.status, reduction=config.reduction)
    return scatter_elements_steps(
        data, indices, updates, y, config.axis, lowering.status, reduction=config.reduction
    )
