"""InstanceNormalization and GroupNormalization in float32: channels-last for channels-last images, else plane by plane.

Falls back if scale or bias are not [C], or channels are not divisible by the groups.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.channels_last.normalization import channels_last_norm_step
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.reductions.group_norm import group_norm_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.pooling import is_image
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.lower.window_geometry import as_image
from sardonyx._src.compile.partition.epilogues import fuse_epilogue, mark_fused
from sardonyx._src.compile.partition.fusion import fuse_consumers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ir.graph import Value


@lowers("InstanceNormalization", 22)
def lower_instance_normalization(op: BoundNode, lowering: Lowering) -> bool:
    return lower_channel_groups(op, lowering, None)


@lowers("GroupNormalization", 21)
def lower_group_normalization(op: BoundNode, lowering: Lowering) -> bool:
    return op.attributes["stash_type"] == 1 and lower_channel_groups(
        op, lowering, op.attribute("num_groups", int)
    )


def lower_channel_groups(op: BoundNode, lowering: Lowering, groups: int | None) -> bool:
    """groups: the number of channel groups; None for one group per channel."""
    x = op.input(0)
    if x is None or not is_supported_normalization(op, lowering, x, groups):
        return False
    if is_image(lowering, x) and lowering.has_channels_last(x):
        emit_channels_last(op, lowering, x, groups)
    else:
        emit_planes(op, lowering, x, groups)
    return True


def is_supported_normalization(op: BoundNode, lowering: Lowering, x: Value, groups: int | None) -> bool:
    values = [x, *(value for i in (1, 2) if (value := op.input(i)) is not None)]
    if len(values) != 3 or not all(
        lowering.is_native(v) and lowering.dtype_of(v) is DataType.FLOAT for v in values
    ):
        return False
    shape = lowering.known_shape(x)
    if len(shape) < 2 or shape[1] == 0 or lowering.shape(op.output) != shape:
        return False
    if any(lowering.known_shape(value) != (shape[1],) for value in values[1:]):
        return False
    return groups is None or (groups > 0 and known_equal(shape[1] // groups * groups, shape[1]) is True)


def emit_channels_last(op: BoundNode, lowering: Lowering, x: Value, groups: int | None) -> None:
    source = as_image(lowering.channels_last(x))
    scale, bias = scale_and_bias(op, lowering)
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    operands = tuple(map(as_image, fused.operands))
    epsilon = op.attribute("epsilon", float)
    lowering.emit(
        channels_last_norm_step(
            source, scale, bias, as_image(fused.y), epsilon, groups, fused.epilogue, operands
        )
    )


def emit_planes(op: BoundNode, lowering: Lowering, x: Value, groups: int | None) -> None:
    """Emits a step over dense planes; fuses consumers that have no other operands than constants."""
    source = lowering.dense(x)
    scale, bias = scale_and_bias(op, lowering)
    value, epilogue = op.output, Epilogue()
    group = fuse_consumers(lowering, value, lambda other, shape: False, RESULT)
    if group is not None:
        mark_fused(lowering, group)
        value, epilogue = group.result, Epilogue(group.value)
    y = lowering.allocate_result(value)
    num_groups = lowering.known_shape(x)[1] if groups is None else groups
    epsilon = op.attribute("epsilon", float)
    step = group_norm_step(source, y, scale, bias, groups=num_groups, epsilon=epsilon, epilogue=epilogue)
    assert step is not None, "dense planes have a kernel"
    lowering.emit(step)


def scale_and_bias(op: BoundNode, lowering: Lowering) -> tuple[TensorView, TensorView]:
    """Scale and bias, [C] each."""
    scale, bias = op.input(1), op.input(2)
    assert scale is not None and bias is not None, "scale and bias are required"
    return lowering.dense(scale), lowering.dense(bias)
