"""Windows that slide over the spatial axes of a tensor: where they lie, how many fit, and the elements below them.

Spec: the attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode, which convolution and pooling
share.  A window that `kernel` taps `dilation` apart make spans `dilation * (kernel - 1) + 1` elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, ceil_div, dim_min
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, claim
from sardonyx._src.ops.inference import Inference

# floor: whole windows alone; ceil: one more where elements are left over; ceil-inside: the same, but no window starts
# behind the last element of the input, in the padding at the end.
Rounding = Literal["floor", "ceil", "ceil-inside"]

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over `size` elements; every field has one entry for each spatial axis."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]  # padding
    after: tuple[int, ...]
    out: tuple[int, ...]  # how many windows there are

    @property
    def spans(self) -> tuple[int, ...]:
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def extents(self) -> tuple[int, ...]:
        """How many elements, padding included, the windows reach over; at least one window's."""
        counts = zip(self.out, self.strides, self.spans, strict=True)
        return tuple((max(n, 1) - 1) * s + span for n, s, span in counts)


def place(
    size: Sequence[int],
    kernel: Sequence[int],
    *,
    strides: Sequence[int] | None,
    pads: Sequence[int] | None,
    dilations: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    rounding: Rounding = "floor",
) -> Windows:
    """The windows of an operator over spatial axes of `size`; `auto_pad`, where it is set, goes before `pads`.

    Raises EvaluationError for attributes of the wrong length or sign, and for a window larger than what it slides over.
    """
    rank = len(size)
    kernel = per_axis("kernel_shape", kernel, rank, least=1)
    strides = per_axis("strides", strides, rank, least=1)
    dilations = per_axis("dilations", dilations, rank, least=1)
    if auto_pad_of(auto_pad) == "NOTSET":
        both = per_axis("pads", pads, 2 * rank, least=0)
        before, after = both[:rank], both[rank:]
    else:
        sides = [automatic(*axis, auto_pad) for axis in zip(size, kernel, strides, dilations, strict=True)]
        before, after = tuple(b for b, _ in sides), tuple(a for _, a in sides)
        rounding = "floor"
    out: list[int] = []
    for n, k, s, d, b, a in zip(size, kernel, strides, dilations, before, after, strict=True):
        count = window_count(n, d * (k - 1) + 1, s, b, a, rounding)
        assert isinstance(count, int), "numbers have a number of windows"
        if count < 0:
            raise EvaluationError(
                f"a window of {d * (k - 1) + 1} does not fit into {n} elements with {b} + {a} of padding"
            )
        out.append(count)
    return Windows(tuple(size), kernel, strides, dilations, before, after, tuple(out))


def per_axis(name: str, values: Sequence[int] | None, count: int, *, least: int) -> tuple[int, ...]:
    """An attribute with `count` entries, each `least` where the attribute is absent; raises EvaluationError."""
    if values is None:
        return (least,) * count
    if len(values) != count:
        raise EvaluationError(f"{name} {list(values)} has {len(values)} entries, {count} are wanted")
    if count and min(values) < least:
        raise EvaluationError(f"{name} {list(values)} has an entry below {least}")
    return tuple(values)


def auto_pad_of(auto_pad: str) -> str:
    if auto_pad not in AUTO_PADS:
        raise EvaluationError(f"auto_pad is {auto_pad!r}, not one of {', '.join(AUTO_PADS)}")
    return auto_pad


def automatic(size: int, kernel: int, stride: int, dilation: int, auto_pad: str) -> tuple[int, int]:
    """The padding on both sides for which SAME gives ceil(size / stride) windows; none for VALID."""
    if auto_pad == "VALID":
        return 0, 0
    total = max((-(-size // stride) - 1) * stride + dilation * (kernel - 1) + 1 - size, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


def window_count(size: Dim, span: Dim, stride: int, before: int, after: int, rounding: Rounding) -> Dim:
    """How many windows there are along one axis; negative when not even one fits, None when it cannot be told."""
    if size is None or span is None:
        return None
    room = size + (before + after) - span
    if rounding == "floor":
        return room // stride + 1
    count = ceil_div(room, stride) + 1
    return count if rounding == "ceil" else dim_min(count, ceil_div(size + before, stride))


# --- inference -------------------------------------------------------------------------------


def window_dims(
    t: Inference, size: Sequence[Dim], kernel: Sequence[Dim], rounding: Rounding = "floor"
) -> tuple[Dim, ...]:
    """The spatial dims of the output, by the node's own attributes; raises InferenceError where `place` would raise."""
    rank = len(size)
    try:
        strides = per_axis("strides", t.integers("strides"), rank, least=1)
        dilations = per_axis("dilations", t.integers("dilations"), rank, least=1)
        auto_pad = auto_pad_of(str(t.attributes.get("auto_pad", "NOTSET")))
        pads = per_axis("pads", t.integers("pads") if auto_pad == "NOTSET" else None, 2 * rank, least=0)
    except EvaluationError as error:
        t.fail(error.why)
    if len(kernel) != rank:
        t.fail(f"the kernel has {len(kernel)} spatial axes, the input has {rank}")
    result: list[Dim] = []
    for i, (n, k, s, d) in enumerate(zip(size, kernel, strides, dilations, strict=True)):
        if isinstance(k, int) and k < 1:
            t.fail(f"the kernel has size {k} along an axis, at least 1 is wanted")
        span = None if k is None else d * (k - 1) + 1
        if auto_pad.startswith("SAME"):
            result.append(ceil_div(n, s))
            continue
        count = window_count(
            n, span, s, pads[i], pads[rank + i], "floor" if auto_pad == "VALID" else rounding
        )
        if isinstance(count, int) and count < 0:
            t.fail(
                f"a window of {span} does not fit into {n} elements with {pads[i]} + {pads[rank + i]} of padding"
            )
        result.append(count)
    return tuple(result)


# --- elements --------------------------------------------------------------------------------


def whole(count: int) -> tuple[slice, ...]:
    """An index of `count` whole axes."""
    return (slice(None),) * count


def padded(x: Array, windows: Windows, fill: object, call: Call) -> Array:
    """x [..., *size] with `fill` around it, cut or filled to just what the windows reach over [..., *extents]."""
    lead = x.ndim - len(windows.size)
    extents = windows.extents
    inside = tuple(
        min(n, e - b) for n, e, b in zip(windows.size, extents, windows.before, strict=True)
    )  # elements that a window reaches
    x = x[whole(lead) + tuple(slice(max(n, 0)) for n in inside)]
    if x.shape[lead:] == extents:
        return x
    shape = (*x.shape[:lead], *extents)
    claim(call, shape, x.dtype, "the padded input")
    result = np.full(shape, fill, x.dtype)
    if min(inside, default=1) > 0:
        middle = tuple(slice(b, b + n) for b, n in zip(windows.before, inside, strict=True))
        result[whole(lead) + middle] = x
    return result


def gathered(x: Array, windows: Windows) -> Array:
    """A view of x [..., *extents], padded, as [..., *kernel, *out]."""
    rank = len(windows.size)
    lead = x.ndim - rank
    axes = tuple(range(lead, x.ndim))
    view = sliding_window_view(x, windows.spans, axes, writeable=x.flags.writeable)
    starts = tuple(slice(0, n * s, s) for n, s in zip(windows.out, windows.strides, strict=True))
    taps = tuple(slice(None, None, d) for d in windows.dilations)
    view = view[whole(lead) + starts + taps]
    return view.transpose(*range(lead), *(a + rank for a in axes), *axes)


def taps(x: Array, windows: Windows) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Each place in the kernel, in row-major order, with the element there of every window: [..., *out]."""
    view = gathered(x, windows)
    lead = x.ndim - len(windows.size)
    for tap in np.ndindex(*windows.kernel):
        yield tap, view[whole(lead) + tap]


def summed(columns: Array, windows: Windows) -> Array:
    """columns [..., *kernel, *out] put back below their windows, added up where those overlap: [..., *extents].

    The transpose of `gathered`.
    """
    rank = len(windows.size)
    lead = columns.ndim - 2 * rank
    result = np.zeros((*columns.shape[:lead], *windows.extents), columns.dtype)
    below = gathered(result, windows)
    for tap in np.ndindex(*windows.kernel):
        below[whole(lead) + tap] += columns[whole(lead) + tap]
    return result


def unpadded(x: Array, windows: Windows) -> Array:
    """x [..., *extents] without its padding, and with zeros behind what no window reaches: [..., *size]."""
    lead = x.ndim - len(windows.size)
    inside = tuple(slice(b, b + n) for b, n in zip(windows.before, windows.size, strict=True))
    x = x[whole(lead) + inside]
    missing = [(0, n - m) for n, m in zip(windows.size, x.shape[lead:], strict=True)]
    return np.pad(x, [(0, 0)] * lead + missing) if any(m for _, m in missing) else x


def along_axis(x: Array, windows: Windows, i: int) -> Iterator[Array]:
    """The elements of x [..., *extents], padded, below each tap of spatial axis i, strided to that axis' windows."""
    axis = x.ndim - len(windows.size) + i
    n, s = windows.out[i], windows.strides[i]
    for tap in range(windows.kernel[i]):
        start = tap * windows.dilations[i]
        yield x[(*whole(axis), slice(start, start + n * s, s))]


def covered(windows: Windows, i: int, *, with_pads: bool) -> Array:
    """How many taps of each window of axis i lie on the input, or on the input and its padding: [out] int64."""
    first = np.arange(windows.out[i])[:, None] * windows.strides[i] - windows.before[i]
    at = first + np.arange(windows.kernel[i]) * windows.dilations[i]
    low = -windows.before[i] if with_pads else 0
    high = windows.size[i] + (windows.after[i] if with_pads else 0)
    return ((at >= low) & (at < high)).sum(1)
