"""DepthToSpace and SpaceToDepth: one copy between two views of rank 6, [N, C, H, b, W, b] with block size b."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step, TensorView, row_major_strides
from sardonyx._src.compile.program.operands.layout import FOLLOW
from sardonyx._src.compile.program.operands.tensor import channels_first_permutation
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known, known_equal


@dataclass(frozen=True, slots=True)
class BlockPermutation:
    """A permutation between [N, C * b * b, H, W] (depth) and [N, C, H * b, W * b] (space), with block size b.

    block: the block size b.
    block_first: whether offsets in the block are the outer part of the channels of depth (mode DCR).
    reads_depth: whether depth is the input, and space the output.
    """

    block: int
    block_first: bool
    reads_depth: bool


@matches("DepthToSpace", 28)
def match_depth_to_space(op: BoundNode, scope: Scope) -> Region[BlockPermutation] | None:
    return match_block_permutation(op, scope, depth=op.input(0), space=op.output)


@matches("SpaceToDepth", 28)
def match_space_to_depth(op: BoundNode, scope: Scope) -> Region[BlockPermutation] | None:
    return match_block_permutation(op, scope, depth=op.output, space=op.input(0))


def match_block_permutation(
    op: BoundNode, scope: Scope, depth: Value | None, space: Value | None
) -> Region[BlockPermutation] | None:
    """The region of a node that reads one of two values and writes the other one.

    depth: [N, C * b * b, H, W].
    space: [N, C, H * b, W * b].
    """
    x, block, mode = op.input(0), op.attribute("blocksize", int), op.attributes["mode"]
    if depth is None or space is None or x is None or not scope.is_native(x) or mode not in ("DCR", "CRD"):
        return None
    if block < 1 or not shapes_match(scope, depth, space, block):
        return None
    config = BlockPermutation(block, mode == "DCR", x is depth)
    reads = (Read(x, ANY, decides_layout=True),)
    return Region("BlockPermutation", (op.node,), config, reads, (Write(op.output, FOLLOW),))


@lowers("BlockPermutation")
def lower_block_permutation(region: LaidOutRegion[BlockPermutation], lowering: Lowering) -> Step:
    (x,), (y,), config = region.operands, region.results, region.config
    if region.channels_last:
        y = y.permute(channels_first_permutation(y.rank))
    depth, space = (x, y) if config.reads_depth else (y, x)
    channels = split_channels(depth, config.block, block_first=config.block_first)
    pixels = split_pixels(space, config.block)
    return copy_step(channels, pixels) if config.reads_depth else copy_step(pixels, channels)


def shapes_match(scope: Scope, depth: Value, space: Value, block: int) -> bool:
    channels, pixels = scope.shape(depth), scope.shape(space)
    if channels is None or pixels is None or len(channels) != 4 or len(pixels) != 4:
        return False
    n, c, h, w = pixels
    expected = (n, c * (block * block), h // block, w // block)
    is_divisible = known_equal(expected[2] * block, h) and known_equal(expected[3] * block, w)
    return bool(is_divisible) and all(known_equal(a, b) for a, b in zip(channels, expected, strict=True))


def split_channels(tensor: TensorView, block: int, *, block_first: bool) -> TensorView:
    """[N, C * b * b, H, W] as [N, C, H, b, W, b]; block_first: see `BlockPermutation`."""
    channels = tensor.shape[1] // (block * block)
    if block_first:
        return split_dim(tensor, 1, (block, block, channels)).permute((0, 3, 4, 1, 5, 2))
    return split_dim(tensor, 1, (channels, block, block)).permute((0, 1, 4, 2, 5, 3))


def split_pixels(tensor: TensorView, block: int) -> TensorView:
    """[N, C, H * b, W * b] as [N, C, H, b, W, b]."""
    apart = split_dim(tensor, 3, (tensor.shape[3] // block, block))
    return split_dim(apart, 2, (tensor.shape[2] // block, block))


def split_dim(tensor: TensorView, axis: int, sizes: Sequence[Known]) -> TensorView:
    """A view with one dim split into several with the same number of elements."""
    inner_strides = tuple(stride * tensor.strides[axis] for stride in row_major_strides(sizes))
    shape = (*tensor.shape[:axis], *sizes, *tensor.shape[axis + 1 :])
    return replace(
        tensor, shape=shape, strides=(*tensor.strides[:axis], *inner_strides, *tensor.strides[axis + 1 :])
    )
