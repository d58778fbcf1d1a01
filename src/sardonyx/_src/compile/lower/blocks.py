"""DepthToSpace and SpaceToDepth: blocks of pixels as channels and back, in one copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tensor import Tensor, row_major
from sardonyx._src.ir.dims import Known, known_equal
from sardonyx._src.ir.graph import Value


@lowers("DepthToSpace", 28)
def depth_to_space(call: Call, at: Lowering) -> bool:
    return lower(call, at, deep=call.input(0), wide=call.output)


@lowers("SpaceToDepth", 28)
def space_to_depth(call: Call, at: Lowering) -> bool:
    return lower(call, at, deep=call.output, wide=call.input(0))


def lower(call: Call, at: Lowering, deep: Value | None, wide: Value | None) -> bool:
    """deep: [N, C * b * b, H, W].  wide: [N, C, H * b, W * b]."""
    x, block, mode = call.input(0), call.attribute("blocksize", int), call.attributes["mode"]
    if deep is None or wide is None or x is None or not at.is_native(x) or mode not in ("DCR", "CRD"):
        return False
    if block < 1 or not fits(at, deep, wide, block):
        return False
    source = at.strided(x)
    at.result(call.output, channels_last=at.has_channels_last(x))
    tensors = {x: source, call.output: at.forms[call.output][0]}
    parts = {
        deep: channels_apart(tensors[deep], block, in_front=mode == "DCR"),
        wide: pixels_apart(tensors[wide], block),
    }
    at.emit(copied(parts[x], parts[call.output]))
    return True


def fits(at: Lowering, deep: Value, wide: Value, block: int) -> bool:
    channels, pixels = at.shape(deep), at.shape(wide)
    if channels is None or pixels is None or len(channels) != 4 or len(pixels) != 4:
        return False
    n, c, h, w = pixels
    wanted = (n, c * (block * block), h // block, w // block)
    whole = known_equal(wanted[2] * block, h) and known_equal(wanted[3] * block, w)
    return bool(whole) and all(known_equal(a, b) for a, b in zip(channels, wanted, strict=True))


def channels_apart(tensor: Tensor, block: int, *, in_front: bool) -> Tensor:
    """[N, C * b * b, H, W] as [N, C, H, b, W, b]; in_front: whether places in the block come before channels."""
    channels = tensor.shape[1] // (block * block)
    if in_front:
        return split(tensor, 1, (block, block, channels)).permuted((0, 3, 4, 1, 5, 2))
    return split(tensor, 1, (channels, block, block)).permuted((0, 1, 4, 2, 5, 3))


def pixels_apart(tensor: Tensor, block: int) -> Tensor:
    """[N, C, H * b, W * b] as [N, C, H, b, W, b]."""
    apart = split(tensor, 3, (tensor.shape[3] // block, block))
    return split(apart, 2, (tensor.shape[2] // block, block))


def split(tensor: Tensor, axis: int, sizes: Sequence[Known]) -> Tensor:
    """One dim as several that hold as many elements."""
    inner = tuple(stride * tensor.strides[axis] for stride in row_major(sizes))
    shape = (*tensor.shape[:axis], *sizes, *tensor.shape[axis + 1 :])
    return replace(tensor, shape=shape, strides=(*tensor.strides[:axis], *inner, *tensor.strides[axis + 1 :]))
