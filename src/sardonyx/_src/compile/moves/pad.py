"""Pad: a tensor inside of a frame, which is constant or continues the tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.fill import filled
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known, known_ge
from sardonyx._src.ir.tensors import Array

Mode = Literal["constant", "reflect", "edge", "wrap"]
Reaches: TypeAlias = Callable[[Known, Known], bool]


def is_at_least(size: Known, wanted: Known) -> bool:
    return known_ge(size, wanted) is True


def padded(
    x: Tensor,
    y: Tensor,
    before: Sequence[Known],
    mode: Mode,
    value: Array,
    nodes: tuple[str, ...] = (),
    reaches: Reaches = is_at_least,
) -> list[Step] | None:
    """y = x behind `before` entries of each axis; what is left of y is its frame, `value` if that is constant.

    Negative pads crop, in constant mode alone.  The tensors overlap nowhere.  reaches: whether a size is at least
    another one.  None where a frame is not known to be one, or is larger than what it continues.
    """
    behind = [to - size - lead for to, size, lead in zip(y.shape, x.shape, before, strict=True)]
    pads = list(zip(before, behind, strict=True))
    if any(pad is None for pair in pads for pad in map(sign, pair)):
        return None
    if mode == "constant":
        return framed(x, y, pads, value, nodes)
    fits = zip(x.shape, pads, strict=True)
    if not all(can_continue(mode, size, pad, reaches) for size, pair in fits for pad in pair):
        return None
    return continued(x, y, pads, mode, nodes)


def sign(pad: Known) -> int | None:
    """1 of a pad that is not negative, -1 of one that is; None where that is not known."""
    found = known_ge(pad, 0)
    return None if found is None else 1 if found else -1


def part(tensor: Tensor, axis: int, first: Known, size: Known, step: Known = 1) -> Tensor:
    """So many entries of an axis from a first one on."""
    stride = tensor.strides[axis]
    shape = (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :])
    strides = (*tensor.strides[:axis], stride * step, *tensor.strides[axis + 1 :])
    return replace(tensor, shape=shape, strides=strides, offset=tensor.offset + first * stride)


def framed(
    x: Tensor, y: Tensor, pads: list[tuple[Known, Known]], value: Array, nodes: tuple[str, ...]
) -> list[Step] | None:
    """The frame in slabs, each of the whole width that those of the axes before leave."""
    steps: list[Step] = []
    for axis, (before, behind) in enumerate(pads):
        size = x.shape[axis]
        if sign(before) == -1:
            x, size, before = part(x, axis, -before, size + before), size + before, 0
        if sign(behind) == -1:
            x, size, behind = part(x, axis, 0, size + behind), size + behind, 0
        if known_ge(size, 0) is not True:
            return None  # both sides crop, and more than there is
        for first, count in ((0, before), (before + size, behind)):
            if count != 0:
                steps.append(filled(part(y, axis, first, count), value, nodes))
        y = part(y, axis, before, size)
    return [*steps, copied(x, y, nodes)]


def can_continue(mode: Mode, size: Known, pad: Known, reaches: Reaches) -> bool:
    """Whether an axis of a size has what a pad of it repeats."""
    if pad == 0:
        return True
    wanted = {"edge": 1, "reflect": pad + 1, "wrap": pad}[mode]
    return sign(pad) == 1 and reaches(size, wanted)


def continued(
    x: Tensor, y: Tensor, pads: list[tuple[Known, Known]], mode: Mode, nodes: tuple[str, ...]
) -> list[Step]:
    """x where it belongs, then axis by axis what continues all that is there already."""
    inner = y
    for axis, (before, _) in enumerate(pads):
        inner = part(inner, axis, before, x.shape[axis])
    steps = [copied(x, inner, nodes)]
    for axis, (before, behind) in enumerate(pads):
        size = x.shape[axis]
        rest = replace(inner, offset=inner.offset - before * inner.strides[axis])
        for first, count, source, step in (
            (0, before, *start(mode, before, size)),
            (before + size, behind, *end(mode, before + size, size)),
        ):
            if count != 0:
                to = part(rest, axis, first, count)
                steps.append(copied(part(rest, axis, source, count, step), to, nodes))
        inner = part(rest, axis, 0, y.shape[axis])
    return steps


def start(mode: Mode, before: Known, size: Known) -> tuple[Known, Known]:
    """Where entry 0 of an axis comes from, and how its followers go on from there."""
    if mode == "edge":
        return before, 0
    return (2 * before, -1) if mode == "reflect" else (size, 1)


def end(mode: Mode, last: Known, size: Known) -> tuple[Known, Known]:
    """The same of the entry behind the tensor."""
    if mode == "edge":
        return last - 1, 0
    return (last - 2, -1) if mode == "reflect" else (last - size, 1)
