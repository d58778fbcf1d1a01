"""TensorScatter: copies the cache, then inserts the update at a start position per batch, checked by the kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.kernels.data_movement.cache_insert import cache_insert_step
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, dim_min, known_ge
from sardonyx._src.ir.graph import Value


@lowers("TensorScatter", 24)
def lower_tensor_scatter(op: BoundNode, lowering: Lowering) -> bool:
    cache, update, starts = (op.input(i) for i in range(3))
    if cache is None or update is None or not (lowering.is_native(cache) and lowering.is_native(update)):
        return False
    shape, update_shape, axis = (
        lowering.known_shape(cache),
        lowering.known_shape(update),
        op.attribute("axis", int),
    )
    if lowering.shape(op.output) != shape or op.attributes["mode"] not in ("linear", "circular"):
        return False
    if len(shape) != len(update_shape) or not -len(shape) <= axis < len(shape) or axis % len(shape) == 0:
        return False
    axis %= len(shape)
    if not all(
        d == axis or lowering.guard_equal(a, b)
        for d, (a, b) in enumerate(zip(shape, update_shape, strict=True))
    ):
        return False
    if not (
        are_valid_starts(lowering, starts, shape[0])
        and guard_capacity(lowering, shape[axis], update_shape[axis])
    ):
        return False
    positions = write_positions(lowering, starts, shape[0])
    source, entries = lowering.any_layout(cache), lowering.any_layout(update)
    result = lowering.allocate_result(op.output)
    circular = op.attributes["mode"] == "circular"
    lowering.emit(
        copy_step(source, result),
        cache_insert_step(entries, positions, result, axis, lowering.status, circular=circular),
    )
    return True


def write_positions(lowering: Lowering, starts: Value | None, batch: Known) -> TensorView:
    """The start position of each batch; 0 if they are omitted."""
    if starts is not None:
        return lowering.any_layout(starts)
    zeros = lowering.constant_tensor(np.zeros(1, np.int64), "first place")
    return replace(zeros, shape=(batch,), strides=(0,))


def are_valid_starts(lowering: Lowering, starts: Value | None, batch: Known) -> bool:
    """Whether start positions, if passed, are int64 [batch]; guarded."""
    if starts is None:
        return True
    if not lowering.is_native(starts) or lowering.dtype_of(starts) is not DataType.INT64:
        return False
    shape = lowering.known_shape(starts)
    return len(shape) == 1 and lowering.guard_equal(shape[0], batch)


def guard_capacity(lowering: Lowering, size: Known, count: Known) -> bool:
    """Whether the update has at most as many entries as the cache; guarded."""
    is_ge = known_ge(size, count)
    if is_ge is None:
        lowering.guards[dim_min(size, count), count] = None
    return is_ge is not False
