"""DepthToSpace and SpaceToDepth: one copy between two views of rank 6, [N, C, H, b, W, b] with block size b."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView, row_major_strides
from sardonyx._src.ir.dims import Known, known_equal
from sardonyx._src.ir.graph import Value


@lowers("DepthToSpace", 28)
def lower_depth_to_space(op: BoundNode, lowering: Lowering) -> bool:
    return lower_block_permutation(op, lowering, depth=op.input(0), space=op.output)


@lowers("SpaceToDepth", 28)
def lower_space_to_depth(op: BoundNode, lowering: Lowering) -> bool:
    return lower_block_permutation(op, lowering, depth=op.output, space=op.input(0))


def lower_block_permutation(
    op: BoundNode, lowering: Lowering, depth: Value | None, space: Value | None
) -> bool:
    """depth: [N, C * b * b, H, W].  space: [N, C, H * b, W * b].  One is the input, the other the output."""
    x, block, mode = op.input(0), op.attribute("blocksize", int), op.attributes["mode"]
    if depth is None or space is None or x is None or not lowering.is_native(x) or mode not in ("DCR", "CRD"):
        return False
    if block < 1 or not shapes_match(lowering, depth, space, block):
        return False
    source = lowering.any_layout(x)
    lowering.allocate_result(op.output, channels_last=lowering.has_channels_last(x))
    tensors = {x: source, op.output: lowering.tensors[op.output][0]}
    blocks = {
        depth: split_channels(tensors[depth], block, block_first=mode == "DCR"),
        space: split_pixels(tensors[space], block),
    }
    lowering.emit(copy_step(blocks[x], blocks[op.output]))
    return True


def shapes_match(lowering: Lowering, depth: Value, space: Value, block: int) -> bool:
    channels, pixels = lowering.shape(depth), lowering.shape(space)
    if channels is None or pixels is None or len(channels) != 4 or len(pixels) != 4:
        return False
    n, c, h, w = pixels
    expected = (n, c * (block * block), h // block, w // block)
    is_divisible = known_equal(expected[2] * block, h) and known_equal(expected[3] * block, w)
    return bool(is_divisible) and all(known_equal(a, b) for a, b in zip(channels, expected, strict=True))


def split_channels(tensor: TensorView, block: int, *, block_first: bool) -> TensorView:
    """[N, C * b * b, H, W] as [N, C, H, b, W, b]; block_first: whether offsets in the block are the outer part of channels."""
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
