"""What the pooling operators share: their windows, and the reduction of windows one axis after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn.windows import Rounding, Windows, along_axis, place, window_dims


def pooling_rounding(ceil_mode: int, *, inside: bool) -> Rounding:
    """How windows are counted; `inside` is whether the version forbids them to start in the padding at the end."""
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
) -> Windows:
    """The windows over x [N, C, *spatial]; raises EvaluationError for a rank below 2 and for what does not fit."""
    if x.ndim < 2:
        raise EvaluationError(f"x has rank {x.ndim}, [N, C, ...] is wanted")
    return place(
        x.shape[2:],
        kernel_shape,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
        rounding=rounding,
    )


def reduced(x: Array, windows: Windows, combine: np.ufunc) -> Array:
    """x [N, C, *extents], padded, as [N, C, *out]; `combine` joins what two taps gave, in any order."""
    for i in range(len(windows.size)):
        taps = along_axis(x, windows, i)
        x = next(taps).copy()
        for tap in taps:
            combine(x, tap, out=x)
    return x


def pooling_shape(t: Inference, *, inside: bool) -> Shape | None:
    """[N, C, *out] by the node's attributes."""
    kernel = t.integers("kernel_shape")
    shape = t.shape(0)
    if shape is None:
        return None if kernel is None else (None,) * (2 + len(kernel))
    if len(shape) < 2:
        t.fail(f"the input has rank {len(shape)}, [N, C, ...] is wanted")
    rounding = pooling_rounding(t.integer("ceil_mode", 0), inside=inside)
    if kernel is None:
        return (*shape[:2], *(None for _ in shape[2:]))
    return (*shape[:2], *window_dims(t, shape[2:], kernel, rounding))


def lowest(dtype: np.dtype[Any]) -> float:
    """What no element of this type is below: minus infinity, or the least integer."""
    return int(np.iinfo(dtype).min) if dtype.kind in "iu" else -np.inf
