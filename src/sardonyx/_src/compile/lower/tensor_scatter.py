"""TensorScatter: new entries of a cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.insert import inserted
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, dim_min, known_ge
from sardonyx._src.ir.graph import Value


@lowers("TensorScatter", 24)
def lower(call: Call, at: Lowering) -> bool:
    cache, update, starts = (call.input(i) for i in range(3))
    if cache is None or update is None or not (at.is_native(cache) and at.is_native(update)):
        return False
    shape, new, axis = at.known_shape(cache), at.known_shape(update), call.attribute("axis", int)
    if at.shape(call.output) != shape or call.attributes["mode"] not in ("linear", "circular"):
        return False
    if len(shape) != len(new) or not -len(shape) <= axis < len(shape) or axis % len(shape) == 0:
        return False
    axis %= len(shape)
    if not all(d == axis or at.agree(a, b) for d, (a, b) in enumerate(zip(shape, new, strict=True))):
        return False
    if not (are_starts(at, starts, shape[0]) and has_room(at, shape[axis], new[axis])):
        return False
    where = places(at, starts, shape[0])
    source, entries = at.strided(cache), at.strided(update)
    made = at.result(call.output)
    circular = call.attributes["mode"] == "circular"
    at.emit(copied(source, made), inserted(entries, where, made, axis, at.status, circular=circular))
    return True


def places(at: Lowering, starts: Value | None, batch: Known) -> Tensor:
    """Where the entries of each batch begin: at the first place if nothing is said."""
    if starts is not None:
        return at.strided(starts)
    first = at.constant_tensor(np.zeros(1, np.int64), "first place")
    return replace(first, shape=(batch,), strides=(0,))


def are_starts(at: Lowering, starts: Value | None, batch: Known) -> bool:
    """Whether there is a place for each batch, if there are places."""
    if starts is None:
        return True
    if not at.is_native(starts) or at.dtype_of(starts) is not DataType.INT64:
        return False
    shape = at.known_shape(starts)
    return len(shape) == 1 and at.agree(shape[0], batch)


def has_room(at: Lowering, size: Known, count: Known) -> bool:
    """Whether there are at most as many new entries as the cache has; where that is not known, runs are held to it."""
    found = known_ge(size, count)
    if found is None:
        at.demands[dim_min(size, count), count] = None
    return found is not False
