"""Sliding windows over the spatial axes of a tensor: padding, window counts, and the elements in each window.

Spec: the attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode, which convolution and pooling
share.  A tap is one position of the kernel.  A window of `kernel` taps `dilation` apart spans
`dilation * (kernel - 1) + 1` elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim, ceil_div, dim_min
from sardonyx._src.ops.api import RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference

# How many windows an axis has.  floor: only those that fit the padded input; ceil: one more if elements are left over;
# ceil-inside: as ceil, but no window starts after the last element of the input, in the padding at the end.
Rounding = Literal["floor", "ceil", "ceil-inside"]

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True, slots=True)
class WindowGeometry:
    """Sliding windows over `size` elements; every field has one entry for each spatial axis."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]  # padding before the first element
    after: tuple[int, ...]  # padding after the last element
    out: tuple[int, ...]  # number of windows

    @property
    def spans(self) -> tuple[int, ...]:
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def extents(self) -> tuple[int, ...]:
        """Number of elements, padding included, that the windows cover; at least the span of one window."""
        counts = zip(self.out, self.strides, self.spans, strict=True)
        return tuple((max(n, 1) - 1) * s + span for n, s, span in counts)


def compute_windows(
    size: Sequence[int],
    kernel: Sequence[int],
    *,
    strides: Sequence[int] | None,
    pads: Sequence[int] | None,
    dilations: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    rounding: Rounding = "floor",
) -> WindowGeometry:
    """The windows of an operator over spatial axes of `size`; `auto_pad`, unless NOTSET, overrides `pads`.

    Raises EvaluationError for attributes of the wrong length or sign, and for a window larger than the padded input.
    """
    rank = len(size)
    kernel = values_per_axis("kernel_shape", kernel, rank, minimum=1)
    strides = values_per_axis("strides", strides, rank, minimum=1)
    dilations = values_per_axis("dilations", dilations, rank, minimum=1)
    if auto_pad_of(auto_pad) == "NOTSET":
        both = values_per_axis("pads", pads, 2 * rank, minimum=0)
        before, after = both[:rank], both[rank:]
    else:
        sides = [
            auto_pad_amounts(*axis, auto_pad) for axis in zip(size, kernel, strides, dilations, strict=True)
        ]
        before, after = tuple(b for b, _ in sides), tuple(a for _, a in sides)
        rounding = "floor"
    out: list[int] = []
    for n, k, s, d, b, a in zip(size, kernel, strides, dilations, before, after, strict=True):
        count = window_count(n, d * (k - 1) + 1, s, b, a, rounding)
        assert isinstance(count, int), "integer sizes give an integer window count"
        if count < 0:
            raise EvaluationError(
                f"a window of {d * (k - 1) + 1} must fit the padded input; got {n} elements + {b} + {a} padding"
            )
        out.append(count)
    return WindowGeometry(tuple(size), kernel, strides, dilations, before, after, tuple(out))


def values_per_axis(name: str, values: Sequence[int] | None, count: int, *, minimum: int) -> tuple[int, ...]:
    """An attribute of `count` entries >= `minimum`, which is also the default; raises EvaluationError for others."""
    if values is None:
        return (minimum,) * count
    if len(values) != count:
        raise EvaluationError(f"{name} must have {count} entries; got {len(values)}: {list(values)}")
    if count and min(values) < minimum:
        raise EvaluationError(f"entries of {name} must be >= {minimum}; got {list(values)}")
    return tuple(values)


def auto_pad_of(auto_pad: str) -> str:
    if auto_pad not in AUTO_PADS:
        raise EvaluationError(f"auto_pad must be one of {', '.join(AUTO_PADS)}; got {auto_pad!r}")
    return auto_pad


def auto_pad_amounts(size: int, kernel: int, stride: int, dilation: int, auto_pad: str) -> tuple[int, int]:
    """The padding before and after an axis: for SAME what ceil(size / stride) windows need, for VALID none."""
    if auto_pad == "VALID":
        return 0, 0
    total = max((-(-size // stride) - 1) * stride + dilation * (kernel - 1) + 1 - size, 0)
    smaller, larger = total // 2, total - total // 2
    return (smaller, larger) if auto_pad == "SAME_UPPER" else (larger, smaller)


def window_count(size: Dim, span: Dim, stride: int, before: int, after: int, rounding: Rounding) -> Dim:
    """Number of windows along one axis; negative when not even one fits, None when it is unknown."""
    if size is None or span is None:
        return None
    room = size + (before + after) - span
    if rounding == "floor":
        return room // stride + 1
    count = ceil_div(room, stride) + 1
    return count if rounding == "ceil" else dim_min(count, ceil_div(size + before, stride))


# --- inference -------------------------------------------------------------------------------


def window_dims(
    inference: Inference, size: Sequence[Dim], kernel: Sequence[Dim], rounding: Rounding = "floor"
) -> tuple[Dim, ...]:
    """The spatial dims of the output; raises InferenceError where `compute_windows` would raise EvaluationError."""
    rank = len(size)
    try:
        strides = values_per_axis("strides", inference.integers("strides"), rank, minimum=1)
        dilations = values_per_axis("dilations", inference.integers("dilations"), rank, minimum=1)
        auto_pad = auto_pad_of(str(inference.attributes.get("auto_pad", "NOTSET")))
        pads = values_per_axis(
            "pads", inference.integers("pads") if auto_pad == "NOTSET" else None, 2 * rank, minimum=0
        )
    except EvaluationError as error:
        inference.fail(error.why)
    if len(kernel) != rank:
        inference.fail(
            f"kernel and input must have the same number of spatial axes; got {len(kernel)} and {rank}"
        )
    result: list[Dim] = []
    for i, (n, k, s, d) in enumerate(zip(size, kernel, strides, dilations, strict=True)):
        if isinstance(k, int) and k < 1:
            inference.fail(f"kernel sizes must be >= 1; got {k} for spatial axis {i}")
        span = None if k is None else d * (k - 1) + 1
        if auto_pad.startswith("SAME"):
            result.append(ceil_div(n, s))
            continue
        count = window_count(
            n, span, s, pads[i], pads[rank + i], "floor" if auto_pad == "VALID" else rounding
        )
        if isinstance(count, int) and count < 0:
            inference.fail(
                f"a window of {span} must fit the padded input; got {n} elements + {pads[i]} + {pads[rank + i]} padding"
            )
        result.append(count)
    return tuple(result)


# --- elements --------------------------------------------------------------------------------


def full_slices(count: int) -> tuple[slice, ...]:
    """An index that selects all of `count` axes."""
    return (slice(None),) * count


def pad_input(x: Array, windows: WindowGeometry, fill: object, context: RunContext) -> Array:
    """x [..., *size] cropped or padded with `fill` to exactly what the windows cover: [..., *extents]."""
    lead = x.ndim - len(windows.size)
    extents = windows.extents
    inside = tuple(
        min(n, e - b) for n, e, b in zip(windows.size, extents, windows.before, strict=True)
    )  # elements that some window covers; none if 0 or negative
    x = x[full_slices(lead) + tuple(slice(max(n, 0)) for n in inside)]
    if x.shape[lead:] == extents:
        return x
    shape = (*x.shape[:lead], *extents)
    check_result_bytes(context, shape, x.dtype, "the padded input")
    result = np.full(shape, fill, x.dtype)
    if min(inside, default=1) > 0:
        middle = tuple(slice(b, b + n) for b, n in zip(windows.before, inside, strict=True))
        result[full_slices(lead) + middle] = x
    return result


def unfold_windows(x: Array, windows: WindowGeometry) -> Array:
    """The im2col view of padded x [..., *extents]: [..., *kernel, *out]."""
    rank = len(windows.size)
    lead = x.ndim - rank
    axes = tuple(range(lead, x.ndim))
    view = sliding_window_view(x, windows.spans, axes, writeable=x.flags.writeable)
    starts = tuple(slice(0, n * s, s) for n, s in zip(windows.out, windows.strides, strict=True))
    tap_steps = tuple(slice(None, None, d) for d in windows.dilations)
    view = view[full_slices(lead) + starts + tap_steps]
    return view.transpose(*range(lead), *(a + rank for a in axes), *axes)


def iterate_taps(x: Array, windows: WindowGeometry) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Each tap, in row-major order, with the element that every window of padded x has at it: [..., *out]."""
    view = unfold_windows(x, windows)
    lead = x.ndim - len(windows.size)
    for tap in np.ndindex(*windows.kernel):
        yield tap, view[full_slices(lead) + tap]


def fold_windows(columns: Array, windows: WindowGeometry) -> Array:
    """The col2im sum of columns [..., *kernel, *out], overlapping windows added up: [..., *extents].

    The adjoint of `unfold_windows`.
    """
    rank = len(windows.size)
    lead = columns.ndim - 2 * rank
    result = np.zeros((*columns.shape[:lead], *windows.extents), columns.dtype)
    below = unfold_windows(result, windows)
    for tap in np.ndindex(*windows.kernel):
        below[full_slices(lead) + tap] += columns[full_slices(lead) + tap]
    return result


def crop_padding(x: Array, windows: WindowGeometry) -> Array:
    """x [..., *extents] without its padding, and zeros after the last element that a window covers: [..., *size]."""
    lead = x.ndim - len(windows.size)
    inside = tuple(slice(b, b + n) for b, n in zip(windows.before, windows.size, strict=True))
    x = x[full_slices(lead) + inside]
    missing = [(0, n - m) for n, m in zip(windows.size, x.shape[lead:], strict=True)]
    return np.pad(x, [(0, 0)] * lead + missing) if any(m for _, m in missing) else x


def iterate_taps_along_axis(x: Array, windows: WindowGeometry, i: int) -> Iterator[Array]:
    """The elements of padded x [..., *extents] at each tap of spatial axis i, strided to the windows of that axis."""
    axis = x.ndim - len(windows.size) + i
    n, s = windows.out[i], windows.strides[i]
    for tap in range(windows.kernel[i]):
        start = tap * windows.dilations[i]
        yield x[(*full_slices(axis), slice(start, start + n * s, s))]


def count_taps(windows: WindowGeometry, i: int, *, with_pads: bool) -> Array:
    """How many taps of each window of axis i lie on the input, or on the input and its padding: [out] int64."""
    low = -windows.before[i] if with_pads else 0
    high = windows.size[i] + (windows.after[i] if with_pads else 0)
    return taps_below(windows, i, high) - taps_below(windows, i, low)


def taps_below(windows: WindowGeometry, i: int, end: int) -> Array:
    """How many taps of each window of axis i lie before position `end` of the input: [out] int64."""
    first = np.arange(windows.out[i]) * windows.strides[i] - windows.before[i]
    # Taps are at first, first + dilation and so on: ceil((end - first) / dilation) of them.
    return np.clip(-((first - end) // windows.dilations[i]), 0, windows.kernel[i])
