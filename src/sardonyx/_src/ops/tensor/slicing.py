"""Slices of an axis by start, end and step, for arrays and for symbolic sizes.

Spec: Slice-13, for an axis of size n.  A negative start or end counts from the back: n is added.  Then both are clamped:
with a positive step, start and end to [0, n]; with a negative step, start to [0, n-1] and end to [-1, n-1].
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import (
    Dim,
    Expr,
    Known,
    bounds,
    ceil_div,
    dim_add,
    dim_max,
    dim_min,
    dim_sub,
    known_equal,
)
from sardonyx._src.ops.support.shapes import axes_of

OPEN_END = (
    2**31 - 1
)  # exporters write INT_MAX for "to the end", so every symbolic size is assumed to be smaller


def slice_array(
    data: Array,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> Array:
    """The part of data between starts and ends; raises EvaluationError for lists inconsistent with data or each other."""
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    counts = [len(starts), len(ends), len(axes), len(steps)]
    if len(set(counts)) > 1:
        raise EvaluationError(f"starts, ends, axes and steps must have equally many entries; got {counts}")
    if 0 in steps:
        raise EvaluationError(f"steps must not be 0; got {list(steps)}")
    index = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes_of(axes, data.ndim), starts, ends, steps, strict=True):
        index[axis] = clamp_slice(start, end, step, data.shape[axis])
    return index_array(data, index)


def index_array(data: Array, index: Sequence[slice]) -> Array:
    """data[index]; for a scalar the array itself instead of a NumPy scalar."""
    return data[tuple(index)] if index else data


def clamp_slice(start: int, end: int, step: int, size: int) -> slice:
    """The Python slice for an axis of that size; unlike in Python, a backward start is clamped to 0."""
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    if start < 0:  # the axis is empty
        return slice(0, 0, step)
    return slice(start, end if end >= 0 else None, step)


def sliced_dim(size: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """Number of entries of a slice of an axis of that size; None if unknown."""
    if not isinstance(step, int) or step == 0:
        return None
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        return len(range(*clamp_slice(start, end, step, size).indices(size)))
    start, end = from_front(start, size, step), from_front(end, size, step)
    # Each end is clamped on one side only: wherever the other clamp would act, the result is empty anyway.
    if step > 0:
        length = dim_sub(clamp_above(end, size), clamp_below(start, 0))
    else:
        last = dim_sub(size, 1)
        length = dim_sub(clamp_above(clamp_below(start, 0), last), clamp_below(end, -1))
    count = ceil_div(length, abs(step))
    return None if count is None else dim_max(0, count)


def from_front(position: Dim, size: Dim, step: int) -> Dim:
    """A start or end as a position from the front: the size is added if it is negative; None if either is unknown."""
    if position is None or isinstance(position, int):
        if position is not None and abs(position) >= OPEN_END:
            return position
        return dim_add(size, position) if position is not None and position < 0 else position
    low, high = bounds(position)
    if low is not None and low >= 0:
        return position
    if high is not None and high < 0:
        return dim_add(size, position)
    # The position size - 1 is negative only if the axis is empty, and size - 2 only if it has at most one entry.  There,
    # adding the size would change nothing after clamping, except for size - 2 with a negative step.
    harmless = (1, 2) if step > 0 else (1,)
    if size is None or any(known_equal(dim_sub(size, position), k) for k in harmless):
        return None if size is None else position
    return position + size * is_negative(position)


def is_negative(position: Known) -> Known:
    """1 where a position is negative, and 0 elsewhere."""
    return dim_min(dim_max(-position, 0), 1)


def clamp_above(position: Dim, top: Dim) -> Dim:
    """min(position, top), where OPEN_END exceeds every symbolic size."""
    if isinstance(position, int) and not isinstance(top, int) and position >= OPEN_END:
        return top
    return dim_min(position, top)


def clamp_below(position: Dim, bottom: int) -> Dim:
    if isinstance(position, int):
        return max(position, bottom)
    return None if position is None else dim_max(position, bottom)


def known_slice(size: int, start: Dim, end: Dim, step: Dim) -> slice | None:
    """The slice of an axis of known size; None if start or end is not known precisely enough."""
    if not isinstance(step, int) or step == 0:
        return None
    start, end = as_number(start, size), as_number(end, size)
    return None if start is None or end is None else clamp_slice(start, end, step, size)


def as_number(position: Dim, size: int) -> int | None:
    """A number that has the same effect as a start or end; for an expression None, unless it is always out of bounds."""
    if not isinstance(position, Expr):
        return position
    low, high = bounds(position)
    if low is not None and low >= size:
        return size
    return -size - 1 if high is not None and high < -size else None
