"""Ranges of an axis by start, end and step, at run time and in symbols.

Spec: Slice-13: a negative start or end counts from the back; then both are clamped, so that forward steps start in
[0, n] and end in [0, n], backward ones start in [0, n-1] and end in [-1, n-1].
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, Expr, bounds, ceil_div, dim_add, dim_max, dim_min, dim_sub, known_equal
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.shapes import axes_of

FAR = 2**31 - 1  # INT_MAX, by which exporters say "to the end"; no symbolic size is assumed to be as large


def sliced(
    data: Array,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> Array:
    """The part of data between starts and ends; raises EvaluationError for lists that do not fit data or each other."""
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    counts = [len(starts), len(ends), len(axes), len(steps)]
    if len(set(counts)) > 1:
        raise EvaluationError(
            f"starts, ends, axes and steps have {counts} entries, where one for each axis is wanted"
        )
    if 0 in steps:
        raise EvaluationError(f"steps are {list(steps)}, where none may be 0")
    index = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes_of(axes, data.ndim), starts, ends, steps, strict=True):
        index[axis] = bounded(start, end, step, data.shape[axis])
    return cut(data, index)


def cut(data: Array, index: Sequence[slice]) -> Array:
    """data[index], which of a scalar is the scalar as an array."""
    return data[tuple(index)] if index else data


def bounded(start: int, end: int, step: int, size: int) -> slice:
    """The Python slice of an axis of that size, which unlike Python's own rule clamps a backward start to 0."""
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    if start < 0:  # of an axis without entries
        return slice(0, 0, step)
    return slice(start, end if end >= 0 else None, step)


def sliced_dim(size: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """How many entries a slice takes of an axis of that size; None where it cannot be told."""
    if not isinstance(step, int) or step == 0:
        return None
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        return len(range(*bounded(start, end, step, size).indices(size)))
    start, end = from_front(start, size, step), from_front(end, size, step)
    # Each end is clamped on one side: where the other clamp would act, nothing is left anyway.
    if step > 0:
        length = dim_sub(least(end, size), most(start, 0))
    else:
        last = dim_sub(size, 1)
        length = dim_sub(least(most(start, 0), last), most(end, -1))
    count = ceil_div(length, abs(step))
    return None if count is None else dim_max(0, count)


def from_front(position: Dim, size: Dim, step: int) -> Dim:
    """A start or end with the size added when it is negative; None where its sign is not known."""
    if position is None or isinstance(position, int):
        if position is not None and abs(position) >= FAR:
            return position
        return dim_add(size, position) if position is not None and position < 0 else position
    low, high = bounds(position)
    if low is not None and low >= 0:
        return position
    if high is not None and high < 0:
        return dim_add(size, position)
    # size - 1 is negative for an empty axis alone, size - 2 for one entry at most: counting it from the back then
    # comes to the same after clamping, but for a backward step and size - 2.
    near = (1, 2) if step > 0 else (1,)
    return position if any(known_equal(dim_sub(size, position), k) for k in near) else None


def least(position: Dim, top: Dim) -> Dim:
    if isinstance(position, int) and not isinstance(top, int) and position >= FAR:
        return top
    return dim_min(position, top)


def most(position: Dim, bottom: int) -> Dim:
    if isinstance(position, int):
        return max(position, bottom)
    return None if position is None else dim_max(position, bottom)


def fixed(size: int, start: Dim, end: Dim, step: Dim) -> slice | None:
    """The slice of an axis of known size, where start and end are known well enough to tell it."""
    if not isinstance(step, int) or step == 0:
        return None
    start, end = as_number(start, size), as_number(end, size)
    return None if start is None or end is None else bounded(start, end, step, size)


def as_number(position: Dim, size: int) -> int | None:
    """A number that means the same as start or end; an expression has one when it never lies inside of the axis."""
    if not isinstance(position, Expr):
        return position
    low, high = bounds(position)
    if low is not None and low >= size:
        return size
    return -size - 1 if high is not None and high < -size else None
