"""Pad as a sequence of copies and fills of slices of y.

Constant mode fills the border slab by slab and copies x into the interior.  The other modes copy x into the interior,
then extend it axis by axis by copies of slices of y itself: reversed for "reflect", with stride 0 for "edge".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.fill import fill_step
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.compile.program.views import slice_axis
from sardonyx._src.ir.dims import Known, dim_max, known_ge
from sardonyx._src.ir.tensors import Array

PadMode = Literal["constant", "reflect", "edge", "wrap"]
SizePredicate: TypeAlias = Callable[[Known, Known], bool]


def is_provably_ge(size: Known, minimum: Known) -> bool:
    return known_ge(size, minimum) is True


def pad_steps(
    x: TensorView,
    y: TensorView,
    before: Sequence[Known],
    mode: PadMode,
    value: Array,
    is_ge: SizePredicate = is_provably_ge,
) -> list[Step] | None:
    """y = x after `before` entries of each axis; the rest of y is the border, which has `value` in constant mode.

    Negative pads remove entries; in mode wrap all pads are provably >= 0.  x and y do not overlap.  is_ge: whether a size is
    at least another one; a lowering may guard unproved relations.  None if more entries are removed than an axis has, or
    a border is larger than its source.
    """
    after = [total - size - lead for total, size, lead in zip(y.shape, x.shape, before, strict=True)]
    pads = list(zip(before, after, strict=True))
    if mode == "wrap" and not all(known_ge(pad, 0) for pair in pads for pad in pair):
        return None
    for axis, pair in enumerate(pads):
        first, last = (dim_max(-pad, 0) for pad in pair)
        size = x.shape[axis] - first - last
        if not is_ge(size, 0):
            return None
        x = slice_axis(x, axis, first, size)
    borders = [(dim_max(first, 0), dim_max(last, 0)) for first, last in pads]
    if mode == "constant":
        return constant_pad_steps(x, y, borders, value)
    sized_borders = zip(x.shape, borders, strict=True)
    if not all(
        has_padding_source(mode, size, count, is_ge) for size, pair in sized_borders for count in pair
    ):
        return None
    return border_pad_steps(x, y, borders, mode)


def constant_pad_steps(
    x: TensorView, y: TensorView, borders: list[tuple[Known, Known]], value: Array
) -> list[Step]:
    """Fills two slabs for each axis, each within the region that the axes before leave, and copies x."""
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
    """The entry that entry 0 of an axis is copied from, and the step from there to the source of the next one."""
    if mode == "edge":
        return before, 0
    return (2 * before, -1) if mode == "reflect" else (size, 1)


def trailing_source(mode: PadMode, end: Known, size: Known) -> tuple[Known, Known]:
    """The same for the first entry after the interior, at index `end`."""
    if mode == "edge":
        return end - 1, 0
    return (end - 2, -1) if mode == "reflect" else (end - size, 1)
