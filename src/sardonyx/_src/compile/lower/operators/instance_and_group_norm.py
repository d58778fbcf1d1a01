"""InstanceNormalization and GroupNormalization in float32: channels-last for channels-last images, else plane by plane.

Falls back to the reference kernel if scale or bias are not [C], or the channels are not divisible by the groups.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.channels_last.normalization import channels_last_norm_step
from sardonyx._src.compile.kernels.reductions.group_norm import group_norm_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, fused_region, matches
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue, fuse_without_operands
from sardonyx._src.compile.partition.operands.window_geometry import as_image, is_image
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import CHANNELS_LAST, DENSE, Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import known_equal


@dataclass(frozen=True, slots=True)
class GroupNorm:
    """groups: the number of channel groups; None for one group per channel."""

    groups: int | None
    epsilon: float


@matches("InstanceNormalization", 22)
def match_instance_normalization(op: BoundNode, scope: Scope) -> Region[GroupNorm] | None:
    return match_channel_groups(op, scope, None)


@matches("GroupNormalization", 21)
def match_group_normalization(op: BoundNode, scope: Scope) -> Region[GroupNorm] | None:
    if op.attributes["stash_type"] != 1:
        return None
    return match_channel_groups(op, scope, op.attribute("num_groups", int))


def match_channel_groups(op: BoundNode, scope: Scope, groups: int | None) -> Region[GroupNorm] | None:
    x, scale, bias = (op.input(i) for i in range(3))
    if x is None or scale is None or bias is None or not is_supported(op, scope, (x, scale, bias), groups):
        return None
    config = GroupNorm(groups, op.attribute("epsilon", float))
    parameters = (Read(scale), Read(bias))
    if is_image(scope, x) and scope.is_channels_last(x):
        epilogue, reads = (
            fuse_epilogue(scope, op.output, channels_last=True),
            (Read(x, CHANNELS_LAST), *parameters),
        )
        return fused_region("ChannelsLastGroupNorm", op.node, config, reads, epilogue, CHANNELS_LAST)
    epilogue = fuse_without_operands(scope, op.output)
    return fused_region("GroupNorm", op.node, config, (Read(x, DENSE), *parameters), epilogue)


def is_supported(op: BoundNode, scope: Scope, values: tuple[Value, Value, Value], groups: int | None) -> bool:
    """Whether x, scale and bias are float32, of matching shapes, and the channels are divisible by the groups."""
    if not all(scope.is_native(v) and scope.dtype_of(v) is DataType.FLOAT for v in values):
        return False
    shape = scope.known_shape(values[0])
    if len(shape) < 2 or shape[1] == 0 or scope.shape(op.output) != shape:
        return False
    if any(scope.known_shape(value) != (shape[1],) for value in values[1:]):
        return False
    return groups is None or (groups > 0 and known_equal(shape[1] // groups * groups, shape[1]) is True)


@lowers("ChannelsLastGroupNorm")
def lower_channels_last(region: LaidOutRegion[GroupNorm], lowering: Lowering) -> Step:
    (x, scale, bias), (y,), config = region.operands, region.results, region.config
    operands = tuple(map(as_image, region.epilogue_operands))
    return channels_last_norm_step(
        as_image(x), scale, bias, as_image(y), config.epsilon, config.groups, region.epilogue, operands
    )


@lowers("GroupNorm")
def lower_planes(region: LaidOutRegion[GroupNorm], lowering: Lowering) -> Step:
    (x, scale, bias), (y,), config = region.operands, region.results, region.config
    groups = x.shape[1] if config.groups is None else config.groups
    return group_norm_step(x, y, scale, bias, groups=groups, epsilon=config.epsilon, epilogue=region.epilogue)
