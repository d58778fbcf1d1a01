"""An array resized, one axis after the other, by the rules of each axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.image.resize.stretch import (
    COORDINATES,
    Coordinates,
    Stretch,
    nearest,
    tf_crop_and_resize,
    triangle,
    weighted,
)
from sardonyx._src.ops.image.sampling import cubic_weight, cut_off


@dataclass(frozen=True, slots=True)
class Manner:
    """How positions are found and elements are mixed."""

    mode: str  # nearest, linear or cubic
    coordinates: Coordinates = COORDINATES["asymmetric"]
    nearest_mode: str = "by_scale"  # one of NEAREST, or by_scale: down, but up on axes that shrink
    cubic_coeff_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    extrapolation_value: float = 0

    @property
    def crops(self) -> bool:
        return self.coordinates is tf_crop_and_resize


def resample(x: Array, axes: Sequence[Stretch], manner: Manner) -> Array:
    """x, whose axes `axes` describes, resized; raises EvaluationError where there is nothing to read or mix."""
    for i, axis in enumerate(axes):
        if axis.size == 0 and axis.out:
            raise EvaluationError(f"axis {i} has no elements, {axis.out} are wanted of it")
    result_type = x.dtype
    if manner.mode != "nearest":
        x = mixable(x)
    outside: list[tuple[int, Array]] = []
    order = sorted(range(len(axes)), key=lambda i: axes[i].out / max(axes[i].size, 1))  # what shrinks first
    for i in order:
        axis = axes[i]
        if axis.out == 0:
            x = x[(slice(None),) * i + (slice(0),)]
            continue
        if axis.is_whole:
            continue
        at = manner.coordinates(axis)
        x = resampled(x, i, at, axis, manner)
        if manner.crops:
            outside.append((i, (at < 0) | (at > axis.size - 1)))
    if manner.mode != "nearest":
        x = cut_off(x, result_type)
    return extrapolated(x, outside, manner.extrapolation_value) if manner.crops else x


def mixable(x: Array) -> Array:
    """x in a type in which weighted sums can be computed."""
    if x.dtype == object:
        raise EvaluationError("strings cannot be mixed, mode nearest is wanted")
    if x.dtype.kind in "iub":
        return x.astype(np.float32 if x.dtype.itemsize <= 2 else np.float64)
    return widen(x)


def resampled(x: Array, i: int, at: Array, axis: Stretch, manner: Manner) -> Array:
    """x with the elements at positions `at` along axis i."""
    if manner.mode == "nearest":
        return np.take(x, nearest(at, axis, manner.nearest_mode), i)
    is_cubic = manner.mode == "cubic"
    kernel = partial(cubic_weight, a=manner.cubic_coeff_a) if is_cubic else triangle
    indices, weights = weighted(
        at,
        axis,
        kernel,
        2 if is_cubic else 1,
        antialias=manner.antialias,
        exclude_outside=manner.exclude_outside,
    )
    behind = (1,) * (x.ndim - 1 - i)
    result = np.zeros((*x.shape[:i], axis.out, *x.shape[i + 1 :]), x.dtype)
    for index, weight in zip(indices.T, weights.T, strict=True):
        part = np.take(x, index, i)
        part *= weight.astype(x.dtype).reshape(-1, *behind)
        result += part
    return result


def extrapolated(x: Array, outside: Sequence[tuple[int, Array]], value: float) -> Array:
    """x with `value` wherever the mask of an axis says that the input is left."""
    fill = np.array("", object) if x.dtype == object else cut_off(np.array(value, np.float64), x.dtype)
    mask = np.zeros((1,) * x.ndim, np.bool_)
    for i, places in outside:
        mask = mask | places.reshape(-1, *(1,) * (x.ndim - 1 - i))
    return np.where(mask, fill, x)
