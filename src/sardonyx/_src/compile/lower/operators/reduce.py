"""Reduce operators along constant axes, in any layout, with fused elementwise consumers.

Mean and maximum over all pixels of a channels-last image use the global pooling kernel.  Falls back to the reference
kernel for computed axes, and for element types without a reducer.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.reductions.reduce import reduce_step
from sardonyx._src.compile.kernels.reductions.reducers import (
    OF_BOOLS,
    REDUCED_ELEMENTS,
    ReduceOp,
    find_reducer,
)
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import FusedEpilogue, Read, Region, Scope, Shape, fused_region, matches
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue, fuse_without_operands
from sardonyx._src.compile.partition.operands.window_geometry import is_image
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, CHANNELS_LAST, DENSE, Step
from sardonyx._src.compile.program.operands.layout import FOLLOW
from sardonyx._src.compile.program.operands.tensor import channels_first_permutation
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value

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


@dataclass(frozen=True, slots=True)
class Reduction:
    operator: ReduceOp
    axes: tuple[int, ...]


def match_reduction(op: BoundNode, scope: Scope) -> Region[object] | None:
    x, name = op.input(0), REDUCER_NAMES[op.op_type, op.version]
    if scope.dtype_of(x) is DataType.BOOL:
        name = OF_BOOLS[name]
    if x is None or not scope.is_native(x) or not has_reducer(name, scope.dtype(x)):
        return None
    axes, keeps_dims = known_axes(op, scope, x), bool(op.attributes["keepdims"])
    if axes is None or scope.shape(op.output) != reduced_shape(op, scope, x, axes):
        return None
    reduces_pixels = is_image(scope, x) and axes == spatial_axes(scope, x)
    if axes and name in ("mean", "max") and scope.is_channels_last(x) and reduces_pixels:
        epilogue, layout = fuse_epilogue(scope, op.output, channels_last=keeps_dims), CHANNELS_LAST
        reads = (Read(x, CHANNELS_LAST),)
        return fused_region("GlobalPool", op.node, name, reads, epilogue, layout if keeps_dims else DENSE)
    return reduction_region(op.node, scope, x, Reduction(name, axes), keeps_dims=keeps_dims)


def reduction_region(
    node: Node, scope: Scope, x: Value, config: Reduction, *, keeps_dims: bool = True
) -> Region[Reduction]:
    """The region of a node whose first output is the reduction of x."""
    (output, *_) = node.outputs
    is_float = scope.dtype(x) is DataType.FLOAT
    fused = fuse_without_operands(scope, output) if is_float else FusedEpilogue(Epilogue(), output)
    rank = len(scope.known_shape(x))
    reads = (Read(x, ANY, decides_layout=keeps_dims and rank > 2),)
    return fused_region("Reduce", node, config, reads, fused, FOLLOW)


for operator, version in REDUCER_NAMES:
    matches(operator, version)(match_reduction)


def has_reducer(name: ReduceOp, dtype: DataType) -> bool:
    return dtype in REDUCED_ELEMENTS and find_reducer(name, REDUCED_ELEMENTS[dtype]) is not None


def known_axes(op: BoundNode, scope: Scope, x: Value) -> tuple[int, ...] | None:
    """The non-negative axes in order; None if they are not constant, or contain duplicates."""
    rank = len(scope.known_shape(x))
    axes_value = op.input(1)
    axes_array = np.empty(0, np.int64) if axes_value is None else scope.constant(axes_value)
    if axes_array is None:
        return None
    axes = [int(axis) for axis in axes_array.reshape(-1)]
    if not axes and not op.attributes["noop_with_empty_axes"]:
        axes = list(range(rank))
    if not all(-rank <= axis < rank for axis in axes):
        return None
    normalized = sorted(axis % rank for axis in axes)
    return tuple(normalized) if len(set(normalized)) == len(normalized) else None


def reduced_shape(op: BoundNode, scope: Scope, x: Value, axes: tuple[int, ...]) -> Shape:
    shape = scope.known_shape(x)
    if op.attributes["keepdims"]:
        return tuple(1 if i in axes else dim for i, dim in enumerate(shape))
    return tuple(dim for i, dim in enumerate(shape) if i not in axes)


def spatial_axes(scope: Scope, x: Value) -> tuple[int, ...]:
    """The axes of an image after batch and channels."""
    return tuple(range(2, len(scope.known_shape(x))))


@lowers("Reduce")
def lower_reduction(region: LaidOutRegion[Reduction], lowering: Lowering) -> Step:
    (x,), (y,), config = region.operands, region.results, region.config
    if region.channels_last:
        y = y.permute(channels_first_permutation(y.rank))
    return reduce_step(config.operator, x, y, config.axes, region.epilogue)
