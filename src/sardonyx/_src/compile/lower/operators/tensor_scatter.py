"""TensorScatter: copies the cache, then inserts the update at a start position for each batch entry, which the kernel checks.

A cache that a Pad extends is copied once: the Pad writes into the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.compile.kernels.data_movement.cache_insert import cache_insert_step
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.pad import pad_steps
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.operators.pad import Pad
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class CacheUpdate:
    """An insertion of entries along an axis.

    circular: whether positions wrap around.
    pad: how the operand becomes the cache; None if it is the cache.
    """

    axis: int
    circular: bool
    pad: Pad | None


@matches("TensorScatter", 24)
def match_tensor_scatter(op: BoundNode, scope: Scope) -> Region[CacheUpdate] | None:
    cache, update, starts = (op.input(i) for i in range(3))
    if cache is None or update is None or not (scope.is_native(cache) and scope.is_native(update)):
        return None
    shape, update_shape, axis = (
        scope.known_shape(cache),
        scope.known_shape(update),
        op.attribute("axis", int),
    )
    result = scope.shape(op.output)
    if result is None or op.attributes["mode"] not in ("linear", "circular"):
        return None
    if len(shape) != len(update_shape) or not -len(shape) <= axis < len(shape) or axis % len(shape) == 0:
        return None
    axis %= len(shape)
    if not all(map(scope.guard_required_equal, shape, result)):
        return None
    sizes = enumerate(zip(result, update_shape, strict=True))
    if not all(d == axis or scope.guard_required_equal(a, b) for d, (a, b) in sizes):
        return None
    if not (are_valid_starts(scope, starts, shape[0]) and scope.guard_ge(shape[axis], update_shape[axis])):
        return None
    padded = scope.deferred.get(cache)
    pad = None if padded is None or not isinstance(padded.config, Pad) else padded.config
    if padded is not None and pad is not None:
        if not all(scope.guard_equal(guard.left, guard.right) for guard in padded.guards):
            return None
        cache = padded.reads[0].value
    config = CacheUpdate(axis, op.attributes["mode"] == "circular", pad)
    reads = [Read(value, ANY) for value in (cache, update, starts) if value is not None]
    return Region("TensorScatter", (op.node,), config, tuple(reads), (Write(op.output),))


@lowers("TensorScatter")
def lower_tensor_scatter(region: LaidOutRegion[CacheUpdate], lowering: Lowering) -> Sequence[Step]:
    cache, update, *starts = region.operands
    (result,), config = region.results, region.config
    positions = starts[0] if starts else first_positions(lowering, cache.shape[0])
    pad = config.pad
    copies = (
        [copy_step(replace(cache, shape=result.shape), result)]
        if pad is None
        else pad_steps(cache, result, pad.before, pad.mode, pad.value)
    )
    return (
        *copies,
        cache_insert_step(update, positions, result, config.axis, lowering.status, circular=config.circular),
    )


def first_positions(lowering: Lowering, batch: Known) -> TensorView:
    """Start positions of 0 for each batch."""
    zeros = lowering.constant_tensor(np.zeros(1, np.int64), "first place")
    return replace(zeros, shape=(batch,), strides=(0,))


def are_valid_starts(scope: Scope, starts: Value | None, batch: Known) -> bool:
    """Whether start positions, if passed, are int64 [batch]; guarded."""
    if starts is None:
        return True
    if not scope.is_native(starts) or scope.dtype_of(starts) is not DataType.INT64:
        return False
    shape = scope.known_shape(starts)
    return len(shape) == 1 and scope.guard_equal(shape[0], batch)
