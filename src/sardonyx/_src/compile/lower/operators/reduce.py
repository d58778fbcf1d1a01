"""Reduce operators along constant axes, in any layout, with fused elementwise consumers.

Mean and maximum over all pixels of a channels-last image use the global pooling kernel.  Falls back to the reference kernel for axes that are not
constant, and for element types without a reducer.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.pooling.global_pooling import GlobalPoolKind, global_pooling_step
from sardonyx._src.compile.kernels.reductions.reduce import reduce_step
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS, ReduceOp, find_reducer
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.pooling import is_image
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.lower.window_geometry import as_image
from sardonyx._src.compile.partition.epilogues import fuse_epilogue, mark_fused
from sardonyx._src.compile.partition.fusion import fuse_consumers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value

REDUCER_NAMES: dict[tuple[str, int], ReduceOp] = {
    ("ReduceSum", 13): "sum",
    ("ReduceMean", 18): "mean",
    ("ReduceProd", 18): "prod",
    ("ReduceMax", 20): "max",
    ("ReduceMin", 20): "min",
    ("ReduceL1", 18): "l1",
    ("ReduceL2", 18): "l2",
    ("ReduceSumSquare", 18): "sum_square",
    ("ReduceLogSum", 28): "log_sum",
    ("ReduceLogSumExp", 28): "log_sum_exp",
}


def lower_reduction(op: BoundNode, lowering: Lowering) -> bool:
    x, name = op.input(0), REDUCER_NAMES[op.op_type, op.version]
    if x is None or not lowering.is_native(x) or not has_reducer(name, lowering.dtype(x)):
        return False
    axes = known_axes(op, lowering, x)
    if not axes or lowering.shape(op.output) != reduced_shape(op, lowering, x, axes):
        return False
    if name in ("mean", "max") and lowering.has_channels_last(x) and reduces_all_pixels(lowering, x, axes):
        emit_global_pool(op, lowering, x, name)
    else:
        emit_reduction(op, lowering, x, name, axes)
    return True


def has_reducer(name: ReduceOp, dtype: DataType) -> bool:
    return dtype in NUMERIC_ELEMENTS and find_reducer(name, NUMERIC_ELEMENTS[dtype]) is not None


def known_axes(op: BoundNode, lowering: Lowering, x: Value) -> tuple[int, ...]:
    """The non-negative axes in order; empty if they are not constant or contain duplicates, or nothing is reduced."""
    rank = len(lowering.known_shape(x))
    axes_value = op.input(1)
    axes_array = np.empty(0, np.int64) if axes_value is None else lowering.constant(axes_value)
    if axes_array is None:
        return ()
    axes = [int(axis) for axis in axes_array.reshape(-1)]
    if not axes and not op.attributes["noop_with_empty_axes"]:
        axes = list(range(rank))
    if not all(-rank <= axis < rank for axis in axes):
        return ()
    normalized = sorted(axis % rank for axis in axes)
    return tuple(normalized) if len(set(normalized)) == len(normalized) else ()


def reduced_shape(op: BoundNode, lowering: Lowering, x: Value, axes: tuple[int, ...]) -> tuple[Known, ...]:
    shape = lowering.known_shape(x)
    if op.attributes["keepdims"]:
        return tuple(1 if i in axes else dim for i, dim in enumerate(shape))
    return tuple(dim for i, dim in enumerate(shape) if i not in axes)


def reduces_all_pixels(lowering: Lowering, x: Value, axes: tuple[int, ...]) -> bool:
    """Whether exactly the spatial dims of an image are reduced."""
    return is_image(lowering, x) and axes == tuple(range(2, len(lowering.known_shape(x))))


def emit_global_pool(op: BoundNode, lowering: Lowering, x: Value, name: ReduceOp) -> None:
    """Emits a global pooling step for a channels-last image, with an epilogue."""
    source = as_image(lowering.channels_last(x))
    fused = fuse_epilogue(lowering, op.output, channels_last=bool(op.attributes["keepdims"]))
    operands = tuple(map(as_image, fused.operands))
    lowering.emit(
        global_pooling_step(source, as_image(fused.y), cast(GlobalPoolKind, name), fused.epilogue, operands)
    )


def emit_reduction(
    op: BoundNode, lowering: Lowering, x: Value, name: ReduceOp, axes: tuple[int, ...]
) -> None:
    """Emits a reduction along any axes; fuses float32 consumers that have no other operands than constants."""
    source = lowering.any_layout(x)
    channels_last = lowering.has_channels_last(x) and len(lowering.known_shape(op.output)) == source.rank
    group = fuse_consumers(lowering, op.output, lambda value, shape: False, RESULT)
    if group is not None and lowering.dtype(x) is DataType.FLOAT:
        mark_fused(lowering, group)
        value, epilogue = group.result, Epilogue(group.value)
    else:
        value, epilogue = op.output, Epilogue()
    lowering.allocate_result(value, channels_last=channels_last)
    step = reduce_step(name, source, lowering.tensors[value][0], axes, epilogue)
    assert step is not None, "the element type has a reducer"
    lowering.emit(step)


for operator, version in REDUCER_NAMES:
    lowers(operator, version)(lower_reduction)
