"""GatherElements, GatherND, ScatterElements, ScatterND: elements at places that indices say, each of them checked."""

from __future__ import annotations

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.combining import ELEMENTS, REDUCTIONS
from sardonyx._src.compile.moves.gather import (
    INDEX,
    fits,
    gathered_elements,
    gathered_tuples,
    scattered_elements,
    scattered_tuples,
)
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.ir.graph import Value


@lowers("GatherElements", 13)
def gather_elements(call: Call, at: Lowering) -> bool:
    data, indices = call.input(0), call.input(1)
    if data is None or indices is None or not are_there(call, at, data, indices):
        return False
    axis = axis_beside(call, at, data, indices)
    if axis is None or at.shape(call.output) != at.shape(indices):
        return False
    source, where = at.strided(data), at.dense(indices)
    step = gathered_elements(source, where, at.result(call.output), axis, at.status)
    assert step is not None, "the indices fit"
    at.emit(step)
    return True


def are_there(call: Call, at: Lowering, data: Value, indices: Value) -> bool:
    """Whether kernels can read data and indices, and the result's sizes are known."""
    if at.dtype_of(indices) not in INDEX or at.shape(call.output) is None:
        return False
    return at.is_native(data) and at.is_native(indices)


def axis_beside(call: Call, at: Lowering, data: Value, indices: Value) -> int | None:
    """The axis that indices lead along, if they are known to stay within the others."""
    rank, axis = len(at.known_shape(data)), call.attribute("axis", int)
    if len(at.known_shape(indices)) != rank or not -rank <= axis < rank:
        return None
    return axis % rank if fits(at.strided(indices), at.strided(data), axis % rank) else None


@lowers("GatherND", 13)
def gather_nd(call: Call, at: Lowering) -> bool:
    data, indices, batch = call.input(0), call.input(1), call.attribute("batch_dims", int)
    if data is None or indices is None or not are_there(call, at, data, indices):
        return False
    shape, places = at.known_shape(data), at.known_shape(indices)
    if not 0 <= batch < min(len(shape), len(places)) or shape[:batch] != places[:batch]:
        return False
    depth = places[-1]
    if not isinstance(depth, int) or not 1 <= depth <= len(shape) - batch:
        return False
    if at.shape(call.output) != (*places[:-1], *shape[batch + depth :]):
        return False
    source, where = at.strided(data), at.dense(indices)
    step = gathered_tuples(source, where, at.result(call.output), batch, at.status)
    assert step is not None, "the length of tuples is a number"
    at.emit(step)
    return True


@lowers("ScatterElements", 18)
def scatter_elements(call: Call, at: Lowering) -> bool:
    data, indices, updates = call.input(0), call.input(1), call.input(2)
    if data is None or indices is None or updates is None or not replaces(call, at, data, indices, updates):
        return False
    axis = axis_beside(call, at, data, indices)
    if axis is None or at.shape(updates) != at.shape(indices):
        return False
    source, where, new = at.strided(data), at.dense(indices), at.strided(updates)
    how = call.attribute("reduction", str)
    steps = scattered_elements(source, where, new, at.result(call.output), axis, at.status, reduction=how)
    assert steps is not None, "the indices fit"
    at.emit(*steps)
    return True


def replaces(call: Call, at: Lowering, data: Value, indices: Value, updates: Value) -> bool:
    """Whether updates take the place of elements or are combined with them, and kernels can read all of them."""
    is_plain = call.attributes["reduction"] == "none"
    is_known = call.attributes["reduction"] in REDUCTIONS and at.dtype_of(data) in ELEMENTS
    if not (is_plain or is_known) or not are_there(call, at, data, indices):
        return False
    if not at.is_native(updates) or at.dtype_of(updates) is not at.dtype_of(data):
        return False
    return at.shape(call.output) == at.shape(data)


@lowers("ScatterND", 18)
def scatter_nd(call: Call, at: Lowering) -> bool:
    data, indices, updates = call.input(0), call.input(1), call.input(2)
    if data is None or indices is None or updates is None or not replaces(call, at, data, indices, updates):
        return False
    shape, places = at.known_shape(data), at.known_shape(indices)
    depth = places[-1] if places else 0
    if not isinstance(depth, int) or not 1 <= depth <= len(shape):
        return False
    if at.shape(updates) != (*places[:-1], *shape[depth:]):
        return False
    source, where, new = at.strided(data), at.dense(indices), at.strided(updates)
    how = call.attribute("reduction", str)
    steps = scattered_tuples(source, where, new, at.result(call.output), at.status, reduction=how)
    assert steps is not None, "the length of tuples is a number"
    at.emit(*steps)
    return True
