"""OneHot: one of two values everywhere but where indices point."""

from __future__ import annotations

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.gather import INDEX
from sardonyx._src.compile.moves.one_hot import one_hot
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import known_ge


@lowers("OneHot", 28)
def lower(call: Call, at: Lowering) -> bool:
    indices, values, shape = call.input(0), call.input(2), at.shape(call.output)
    if indices is None or values is None or shape is None or at.dtype_of(indices) not in INDEX:
        return False
    if not (at.is_native(indices) and at.is_native(values)) or at.shape(values) != (2,):
        return False
    if at.dtype(values) is not at.dtype(call.output):
        return False
    dims, axis = at.known_shape(indices), call.attribute("axis", int)
    if len(shape) != len(dims) + 1 or not -len(shape) <= axis < len(shape):
        return False
    axis %= len(shape)
    if (*shape[:axis], *shape[axis + 1 :]) != dims or known_ge(shape[axis], 1) is not True:
        return False
    where, chosen = at.strided(indices), at.dense(values)
    unread = at.temporary(DataType.INT64, (1,), f"{call.output.name}.status")
    at.emit(*one_hot(where, chosen, at.result(call.output), axis, unread))
    return True
