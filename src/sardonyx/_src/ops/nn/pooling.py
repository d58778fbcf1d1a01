"""Shared by the pooling operators: window geometry, separable window reduction, and output shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape
from sardonyx._src.ops.api import RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.windows import (
    Rounding,
    WindowGeometry,
    compute_windows,
    iterate_taps_along_axis,
    pad_input,
    taps_below,
    window_dims,
)

# The largest window whose taps are combined one after the other; the work for larger ones grows with the logarithm only.
MAX_SINGLE_TAPS = 64
Parts: TypeAlias = tuple[
    Array, ...
]  # arrays of one shape that are reduced together, such as values and positions
CombineParts: TypeAlias = Callable[[Parts, Parts], Parts]


def pooling_rounding(ceil_mode: int, *, inside: bool) -> Rounding:
    """The rounding of the window count; `inside`: whether the version forbids windows that start in the end padding."""
    if not ceil_mode:
        return "floor"
    return "ceil-inside" if inside else "ceil"


def pooling_windows(
    x: Array,
    kernel_shape: Sequence[int],
    *,
    strides: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    dilations: Sequence[int] | None = None,
    rounding: Rounding = "floor",
) -> WindowGeometry:
    """The windows over x [N, C, *spatial]; raises EvaluationError for a rank below 2 and attributes that do not fit."""
    if x.ndim < 2:
        raise EvaluationError(f"x must have rank >= 2 ([N, C, ...]); got rank {x.ndim}")
    return compute_windows(
        x.shape[2:],
        kernel_shape,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
        rounding=rounding,
    )


def reduce_windows(
    x: Array, windows: WindowGeometry, combine: np.ufunc, identity: float, context: RunContext
) -> Array:
    """x [N, C, *size] reduced axis by axis to [N, C, *out].

    combine: an associative and commutative function; `identity` is its neutral element.
    """
    check_result_bytes(context, (*x.shape[:2], *windows.out), x.dtype, "the result")
    if any(span > n for span, n in zip(windows.spans, windows.size, strict=True)):
        return reduce_distinct_windows(x, windows, combine, identity)
    x = pad_input(x, windows, identity, context)
    for i in range(len(windows.size)):
        if windows.kernel[i] > MAX_SINGLE_TAPS:
            (x,) = reduce_axis((x,), windows, i, lambda a, b: (combine(a[0], b[0]),))
            continue
        taps = iterate_taps_along_axis(x, windows, i)
        x = next(taps).copy()
        for tap in taps:
            combine(x, tap, out=x)
    return x


def reduce_axis(parts: Parts, windows: WindowGeometry, i: int, combine: CombineParts) -> Parts:
    """Padded parts [N, C, *extents] with spatial axis i reduced to its windows; `combine` must be associative."""
    axis, n, s = i + 2, windows.out[i], windows.strides[i]
    leading = tuple(np.moveaxis(part, axis, 0) for part in parts)
    reduced = reduce_taps(leading, windows.kernel[i], windows.dilations[i], combine)
    return tuple(np.moveaxis(part[: n * s : s], 0, axis) for part in reduced)


def reduce_taps(parts: Parts, taps: int, step: int, combine: CombineParts) -> Parts:
    """The combination, in order, of each `taps` entries of the first axis that are `step` apart.

    Windows of 1, 2, 4, ... taps are each combined from two windows of half the length.  The result is combined from
    those that the binary digits of `taps` name, so that the work grows with the logarithm of `taps`.
    """
    length = len(parts[0]) - (taps - 1) * step
    result: Parts | None = None
    done, width = 0, 1
    while True:
        if taps & width:
            piece = tuple(part[done * step : done * step + length] for part in parts)
            result = piece if result is None else combine(result, piece)
            done += width
        if 2 * width > taps:
            assert result is not None, "a window has a tap"
            return result
        shift = width * step
        parts = combine(tuple(part[:-shift] for part in parts), tuple(part[shift:] for part in parts))
        width *= 2


def reduce_distinct_windows(x: Array, windows: WindowGeometry, combine: np.ufunc, identity: float) -> Array:
    """`reduce_windows` for windows longer than the input: many cover the same elements, and most taps are padding.

    The work of an axis is at most the square of its size, whatever the sizes of windows and padding.
    """
    expansions = []
    for i in range(len(windows.size)):
        first, end = taps_below(windows, i, 0), taps_below(windows, i, windows.size[i])
        start = np.arange(windows.out[i]) * windows.strides[i] - windows.before[i]
        pairs = np.stack([start + first * windows.dilations[i], end - first])
        (positions, counts), inverse = np.unique(pairs, axis=1, return_inverse=True)
        x = reduce_runs(x, i + 2, positions, counts, windows.dilations[i], (combine, identity))
        expansions.append(inverse.reshape(-1))
    for i, expansion in enumerate(expansions):
        x = x.take(expansion, i + 2)
    return x


def reduce_runs(
    x: Array, axis: int, positions: Array, counts: Array, step: int, reduction: tuple[np.ufunc, float]
) -> Array:
    """The reduction of `counts` elements of an axis from each of `positions` on, `step` apart."""
    combine, identity = reduction
    x = np.moveaxis(x, axis, 0)
    result = np.full((len(positions), *x.shape[1:]), identity, x.dtype)
    for tap in range(int(counts.max(initial=0))):
        (longer,) = np.nonzero(counts > tap)
        result[longer] = combine(result[longer], x[positions[longer] + tap * step])
    return np.moveaxis(result, 0, axis)


def pooling_shape(inference: Inference, *, inside: bool) -> Shape | None:
    """The output shape [N, C, *out]."""
    kernel = inference.integers("kernel_shape")
    shape = inference.shape(0)
    if shape is None:
        return None if kernel is None else (None,) * (2 + len(kernel))
    if len(shape) < 2:
        inference.fail(f"the input must have rank >= 2 ([N, C, ...]); got rank {len(shape)}")
    rounding = pooling_rounding(inference.integer("ceil_mode", 0), inside=inside)
    if kernel is None:
        return (*shape[:2], *(None for _ in shape[2:]))
    return (*shape[:2], *window_dims(inference, shape[2:], kernel, rounding))


def lowest(dtype: np.dtype[Any]) -> float:
    """The identity of max: minus infinity, or the smallest integer."""
    return int(np.iinfo(dtype).min) if dtype.kind in "iu" else -np.inf
