"""MaxPool, AveragePool, LpPool and global pooling of float32 images, channels-last, with fused epilogues.

Falls back to the reference kernel for used indices of MaxPool, more than two spatial dims, dynamic channels, and pads of dynamic sizes.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.channels_last.sliding_window import SlidingWindow
from sardonyx._src.compile.kernels.pooling.global_pooling import GlobalPoolKind, global_pooling_step
from sardonyx._src.compile.kernels.pooling.pooling import PoolingAlgorithm, pooling_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.lower.window_geometry import as_image, window_geometry
from sardonyx._src.compile.partition.epilogues import fuse_epilogue
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value


@lowers("MaxPool", 22)
def lower_max_pool(op: BoundNode, lowering: Lowering) -> bool:
    return not op.is_output_used(1) and lower_pool(op, lowering, PoolingAlgorithm("max"))


@lowers("AveragePool", 22)
def lower_average_pool(op: BoundNode, lowering: Lowering) -> bool:
    return lower_pool(
        op, lowering, PoolingAlgorithm("mean_with_pads" if op.attribute("count_include_pad", int) else "mean")
    )


@lowers("LpPool", 22)
def lower_lp_pool(op: BoundNode, lowering: Lowering) -> bool:
    return lower_pool(op, lowering, PoolingAlgorithm("lp", float(op.attribute("p", int))))


def lower_pool(op: BoundNode, lowering: Lowering, pooling: PoolingAlgorithm) -> bool:
    x, kernel = op.input(0), op.ints("kernel_shape")
    if not is_image(lowering, x) or kernel is None or lowering.shape(op.output) is None:
        return False
    assert x is not None, "is_image holds"
    _, channels, *sizes = lowering.known_shape(x)
    geometry = window_geometry(op, tuple(sizes), kernel)
    if geometry is None or not isinstance(channels, int):  # the kernel partitions its work by channels
        return False
    source = as_image(lowering.channels_last(x))
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    window = SlidingWindow(geometry.kernel, geometry.strides, geometry.dilations, geometry.pads)
    operands = tuple(map(as_image, fused.operands))
    lowering.emit(pooling_step(source, as_image(fused.y), pooling, window, fused.epilogue, operands))
    return True


def is_image(lowering: Lowering, x: Value | None) -> bool:
    """Whether a value is a native float32 tensor with one or two spatial dims."""
    if x is None or not lowering.is_native(x) or lowering.dtype_of(x) is not DataType.FLOAT:
        return False
    return len(lowering.known_shape(x)) in (3, 4)


@lowers("GlobalAveragePool", 22)
def lower_global_average_pool(op: BoundNode, lowering: Lowering) -> bool:
    return lower_global_pool(op, lowering, "mean")


@lowers("GlobalMaxPool", 22)
def lower_global_max_pool(op: BoundNode, lowering: Lowering) -> bool:
    return lower_global_pool(op, lowering, "max")


def lower_global_pool(op: BoundNode, lowering: Lowering, kind: GlobalPoolKind) -> bool:
    x = op.input(0)
    if not is_image(lowering, x) or lowering.shape(op.output) is None:
        return False
    assert x is not None, "is_image holds"
    source = as_image(lowering.channels_last(x))
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    lowering.emit(
        global_pooling_step(
            source, as_image(fused.y), kind, fused.epilogue, tuple(map(as_image, fused.operands))
        )
    )
    return True
