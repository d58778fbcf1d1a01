"""Softmax, LogSoftmax, LayerNormalization and RMSNormalization in float32, along dense rows; Softmax of rows in float64.

A Softmax along the last axis also rounds its result to half precision, in promoted models.  Falls back to the
reference kernel for scales that broadcast.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.reductions.softmax import softmax_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import FusedEpilogue, Read, Region, Scope, Write, fused_region, matches
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.fusion.rounding import fuse_rounding
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value


@dataclass(frozen=True, slots=True)
class Softmax:
    """half: the half-precision type that the result is rounded to, if any."""

    axis: int
    is_log: bool
    half: DataType | None


@matches("Softmax", 13)
@matches("LogSoftmax", 13)
def match_softmax(op: BoundNode, scope: Scope) -> Region[Softmax] | None:
    x = op.input(0)
    if x is None or not scope.is_native(x) or scope.shape(op.output) is None or not scope.known_shape(x):
        return None
    axis, is_log, dtype = op.attribute("axis", int), op.op_type == "LogSoftmax", scope.dtype_of(x)
    is_last = axis in (-1, len(scope.known_shape(x)) - 1)
    if dtype is DataType.DOUBLE and is_last and not is_log:
        config = Softmax(axis, is_log=False, half=None)
        return Region("Softmax", (op.node,), config, (Read(x, DENSE),), (Write(op.output, DENSE),))
    if dtype is not DataType.FLOAT:
        return None
    nodes: tuple[Node, ...] = ()
    half, result = None, op.output
    if is_last and not is_log:
        nodes, half, result = fuse_rounding(scope, op.output)
    return Region("Softmax", (op.node, *nodes), Softmax(axis, is_log, half), (Read(x),), (Write(result),))


@lowers("Softmax")
def lower_softmax(region: LaidOutRegion[Softmax], lowering: Lowering) -> Step:
    (x,), (y,), config = region.operands, region.results, region.config
    return softmax_step(x, y, config.axis, log=config.is_log, half=config.half)


def is_float(scope: Scope, value: Value | None) -> bool:
    return value is not None and scope.is_native(value) and scope.dtype_of(value) is DataType.FLOAT


STATISTICS = {
    1: "mean",
    2: "inverse",
}  # outputs of LayerNormalization: the mean, and the inverse standard deviation


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """A normalization over the dims from `axis` on; the region reads scale and bias, if there are any, then x.

    centered: whether the mean is subtracted (LayerNormalization).
    statistics: the statistics that are written after the result (`STATISTICS`).
    """

    axis: int
    epsilon: float
    centered: bool
    has_scale: bool
    has_bias: bool
    statistics: tuple[str, ...] = ()


@matches("LayerNormalization", 17)
@matches("RMSNormalization", 23)
def match_layer_normalization(op: BoundNode, scope: Scope) -> Region[LayerNorm] | None:
    x, scale, bias = op.input(0), op.input(1), op.input(2)
    if x is None or not is_float(scope, x):
        return None
    shape = scope.known_shape(x)
    if op.attributes["stash_type"] != 1 or scope.shape(op.output) != shape or not shape:
        return None
    axis = op.attribute("axis", int) % len(shape)
    parameters = [value for value in (scale, bias) if value is not None]
    if not all(is_float(scope, value) and scope.known_shape(value) == shape[axis:] for value in parameters):
        return None
    is_last = axis == len(shape) - 1
    epilogue = fuse_epilogue(scope, op.output) if is_last else FusedEpilogue(Epilogue(), op.output)
    is_centered = op.op_type == "LayerNormalization"
    used = [i for i in STATISTICS if op.is_output_used(i)]
    statistics, outputs = tuple(STATISTICS[i] for i in used), [op.node.outputs[i] for i in used]
    if any(scope.shape(value) is None or scope.dtype_of(value) is not DataType.FLOAT for value in outputs):
        return None
    config = LayerNorm(
        axis, op.attribute("epsilon", float), is_centered, scale is not None, bias is not None, statistics
    )
    region = fused_region(
        "LayerNorm", op.node, config, tuple(Read(value) for value in (*parameters, x)), epilogue
    )
    return replace(region, writes=(*region.writes, *map(Write, outputs)))


@lowers("LayerNorm")
def lower_layer_norm(region: LaidOutRegion[LayerNorm], lowering: Lowering) -> Step:
    # Lazy: only normalizations need it.
    from sardonyx._src.compile.kernels.reductions.layer_norm import (
        NormParams,
        layer_norm_step,
    )

    config, (*parameters, x) = region.config, region.operands
    columns, statistics = iter(parameters), dict(zip(config.statistics, region.results[1:], strict=True))
    variant = NormParams(
        config.epsilon,
        centered=config.centered,
        scale=next(columns) if config.has_scale else None,
        bias=next(columns) if config.has_bias else None,
        epilogue=region.epilogue,
        operands=region.epilogue_operands,
        mean=statistics.get("mean"),
        inverse=statistics.get("inverse"),
    )
    return layer_norm_step(x, region.results[0], config.axis, variant)
