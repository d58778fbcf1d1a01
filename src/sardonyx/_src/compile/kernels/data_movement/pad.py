"""Pad as a sequence of copies and fills of slices of y.

Constant mode fills the border slab by slab and copies x into the interior.  The other modes copy x into the interior, and then
extend the interior axis by axis with copies of slices of y itself: reversed for "reflect", with stride 0 for "edge".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.fill import fill_step
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, dim_max, known_ge

PadMode = Literal["constant", "reflect", "edge", "wrap"]
SizePredicate: TypeAlias = Callable[[Known, Known], bool]


def can_pad(
    sizes: Sequence[Known],
    padded: Sequence[Known],
    before: Sequence[Known],
    mode: PadMode,
    is_ge: SizePredicate,
) -> bool:
    """Whether `pad_steps` can extend a tensor of these sizes to the padded ones.

    False if more entries are removed than an axis has, a border is larger than its source, or entries are removed in mode
    wrap.
    is_ge: the predicate that a size is at least another one; for unproved relations, a matcher may add a run-time guard.
    """
    pads = pad_pairs(sizes, padded, before)
    if mode == "wrap" and not all(known_ge(pad, 0) for pair in pads for pad in pair):
        return False
    cropped = [size - sum(map(removed_entries, pair)) for size, pair in zip(sizes, pads, strict=True)]
    return all(is_ge(size, 0) for size in cropped) and (
        mode == "constant"
        or all(
            has_padding_source(mode, size, dim_max(pad, 0), is_ge)
            for size, pair in zip(cropped, pads, strict=True)
            for pad in pair
        )
    )


def pad_pairs(
    sizes: Sequence[Known], padded: Sequence[Known], before: Sequence[Known]
) -> list[tuple[Known, Known]]:
    """The pads before and after each axis."""
    return [(lead, total - size - lead) for total, size, lead in zip(padded, sizes, before, strict=True)]


def removed_entries(pad: Known) -> Known:
    return dim_max(-pad, 0)


def pad_steps(
    x: TensorView, y: TensorView, before: Sequence[Known], mode: PadMode, value: Array
) -> list[Step]:
    """y = x after `before` entries of each axis; the rest of y is the border, which has `value` in constant mode.

    Negative pads remove entries.  x and y do not overlap; `can_pad` must be true of their sizes.
    """
    pads = pad_pairs(x.shape, y.shape, before)
    for axis, pair in enumerate(pads):
        first, last = map(removed_entries, pair)
        x = slice_axis(x, axis, first, x.shape[axis] - first - last)
    borders = [(dim_max(first, 0), dim_max(last, 0)) for first, last in pads]
    if mode == "constant":
        return constant_pad_steps(x, y, borders, value)
    return border_pad_steps(x, y, borders, mode)


def constant_pad_steps(
    x: TensorView, y: TensorView, borders: list[tuple[Known, Known]], value: Array
) -> list[Step]:
    """Fills two slabs for each axis, within the part of y that the slabs of the axes before leave, and copies x."""
    steps: list[Step] = []
    for axis, (before, after) in enumerate(borders):
        size = x.shape[axis]
        for first, count in ((0, before), (before + size, after)):
            if count != 0:
                steps.append(fill_step(slice_axis(y, axis, first, count), value))
        y = slice_axis(y, axis, before, size)
    return [*steps, copy_step(x, y)]


def has_padding_source(mode: PadMode, size: Known, count: Known, is_ge: SizePredicate) -> bool:
    """Whether an axis is large enough to supply the entries of a border."""
    if count == 0:
        return True
    return is_ge(size, {"edge": 1, "reflect": count + 1, "wrap": count}[mode])


def border_pad_steps(
    x: TensorView, y: TensorView, borders: list[tuple[Known, Known]], mode: PadMode
) -> list[Step]:
    """Copies x into the interior, then extends the written region along one axis after the other."""
    interior = y
    for axis, (before, _) in enumerate(borders):
        interior = slice_axis(interior, axis, before, x.shape[axis])
    steps = [copy_step(x, interior)]
    for axis, (before, after) in enumerate(borders):
        size = x.shape[axis]
        extended = replace(interior, offset=interior.offset - before * interior.strides[axis])
        for first, count, source, step in (
            (0, before, *leading_source(mode, before, size)),
            (before + size, after, *trailing_source(mode, before + size, size)),
        ):
            if count != 0:
                border = slice_axis(extended, axis, first, count)
                steps.append(copy_step(slice_axis(extended, axis, source, count, step), border))
        interior = slice_axis(extended, axis, 0, y.shape[axis])
    return steps


def leading_source(mode: PadMode, before: Known, size: Known) -> tuple[Known, Known]:
    """The source entry of entry 0 of an axis, and the step from it to the source of the next entry."""
    if mode == "edge":
        return before, 0
    return (2 * before, -1) if mode == "reflect" else (size, 1)


def trailing_source(mode: PadMode, end: Known, size: Known) -> tuple[Known, Known]:
    """The source entry of the first entry after the interior, at index `end`, and the step to the source of the next."""
    if mode == "edge":
        return end - 1, 0
    return (end - 2, -1) if mode == "reflect" else (end - size, 1)
