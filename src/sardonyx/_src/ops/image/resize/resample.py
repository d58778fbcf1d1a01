"""Separable resampling of an array, one axis after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.image.resize.resampled_axis import (
    COORDINATES,
    Coordinates,
    ResampledAxis,
    interpolation_taps,
    nearest,
    tf_crop_and_resize,
    triangle,
)
from sardonyx._src.ops.image.sampling import cubic_weight, saturate_to_type
from sardonyx._src.ops.support.arithmetic import promote_to_float32


@dataclass(frozen=True, slots=True)
class ResampleMode:
    """The coordinate transformation and interpolation settings of a Resize.

    nearest_mode is a key of NEAREST, or "by_scale", the rule of Resize-10: floor, but ceil for axes that shrink.
    """

    mode: str  # nearest, linear or cubic
    coordinates: Coordinates = COORDINATES["asymmetric"]
    nearest_mode: str = "by_scale"
    cubic_coeff_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    extrapolation_value: float = 0

    @property
    def crops(self) -> bool:
        """Whether positions may lie outside the input, where the output is `extrapolation_value`."""
        return self.coordinates is tf_crop_and_resize


def resample(x: Array, axes: Sequence[ResampledAxis], resample_mode: ResampleMode) -> Array:
    """x resized along `axes`; raises EvaluationError to enlarge an empty axis or to interpolate strings."""
    for i, axis in enumerate(axes):
        if axis.size == 0 and axis.out:
            raise EvaluationError(f"axis {i} must have elements to be resized to {axis.out}; got none")
    result_type = x.dtype
    if resample_mode.mode != "nearest":
        x = promote_for_interpolation(x)
    outside: list[tuple[int, Array]] = []
    # Axes that shrink most come first, so that the other axes are resampled on smaller arrays.
    order = sorted(range(len(axes)), key=lambda i: axes[i].out / max(axes[i].size, 1))
    for i in order:
        axis = axes[i]
        if axis.out == 0:
            x = x[(slice(None),) * i + (slice(0),)]
            continue
        if axis.is_identity:
            continue
        positions = resample_mode.coordinates(axis)
        x = resample_axis(x, i, positions, axis, resample_mode)
        if resample_mode.crops:
            outside.append((i, (positions < 0) | (positions > axis.size - 1)))
    if resample_mode.mode != "nearest":
        x = saturate_to_type(x, result_type)
    return fill_outside(x, outside, resample_mode.extrapolation_value) if resample_mode.crops else x


def promote_for_interpolation(x: Array) -> Array:
    """x in a float type that holds its elements, for weighted sums; raises EvaluationError for strings."""
    if x.dtype == object:
        raise EvaluationError("mode must be nearest for strings")
    if x.dtype.kind in "iub":
        return x.astype(np.float32 if x.dtype.itemsize <= 2 else np.float64)
    return promote_to_float32(x)


def resample_axis(
    x: Array, i: int, positions: Array, axis: ResampledAxis, resample_mode: ResampleMode
) -> Array:
    """x sampled at the positions along axis i."""
    if resample_mode.mode == "nearest":
        return np.take(x, nearest(positions, axis, resample_mode.nearest_mode), i)
    is_cubic = resample_mode.mode == "cubic"
    kernel = partial(cubic_weight, a=resample_mode.cubic_coeff_a) if is_cubic else triangle
    indices, weights = interpolation_taps(
        positions,
        axis,
        kernel,
        2 if is_cubic else 1,
        antialias=resample_mode.antialias,
        exclude_outside=resample_mode.exclude_outside,
    )
    trailing = (1,) * (x.ndim - 1 - i)
    result = np.zeros((*x.shape[:i], axis.out, *x.shape[i + 1 :]), x.dtype)
    for index, weight in zip(indices.T, weights.T, strict=True):
        part = np.take(x, index, i)
        part *= weight.astype(x.dtype).reshape(-1, *trailing)
        result += part
    return result


def fill_outside(x: Array, outside: Sequence[tuple[int, Array]], value: float) -> Array:
    """x with `value` wherever a position lies outside the input; outside: axes, each with its mask of such positions."""
    fill = (
        np.array("", object) if x.dtype == object else saturate_to_type(np.array(value, np.float64), x.dtype)
    )
    mask = np.zeros((1,) * x.ndim, np.bool_)
    for i, axis_mask in outside:
        mask = mask | axis_mask.reshape(-1, *(1,) * (x.ndim - 1 - i))
    return np.where(mask, fill, x)
