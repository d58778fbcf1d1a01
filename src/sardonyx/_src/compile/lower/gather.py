"""Gather: elements that indices point at."""

from __future__ import annotations

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.gather import INDEX, gathered
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers


@lowers("Gather", 13)
def gather(call: Call, at: Lowering) -> bool:
    data, indices = call.input(0), call.input(1)
    if data is None or indices is None or at.shape(call.output) is None:
        return False
    if not (at.is_native(data) and at.is_native(indices)) or at.dtype_of(indices) not in INDEX:
        return False
    axis = call.attribute("axis", int) % max(len(at.known_shape(data)), 1)
    shape, places = at.known_shape(data), at.known_shape(indices)
    if at.known_shape(call.output) != (*shape[:axis], *places, *shape[axis + 1 :]):
        return False
    source, where = at.dense(data), at.dense(indices)
    at.emit(gathered(source, where, at.result(call.output), axis, at.status))
    return True
