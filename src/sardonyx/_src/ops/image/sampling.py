"""Interpolation of an image at points between its pixels: a weighted sum of taps along each axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ops.support.arithmetic import round_to_type


@dataclass(frozen=True, slots=True)
class Tap:
    """For each point, the position of one pixel along one axis, and the factor by which it contributes to the point."""

    index: Array  # [B, P] int64; -1 for a pixel outside the image, which is zero
    weight: Array  # [B, P]


def linear_taps(positions: Array, size: int) -> tuple[Tap, Tap]:
    """The two pixels around each position [B, P], where pixel i is at position i; pixels outside count as zeros."""
    first = np.floor(positions)
    fraction = positions - first
    return Tap(index_or_outside(first, size), 1 - fraction), Tap(index_or_outside(first + 1, size), fraction)


def index_or_outside(position: Array, size: int) -> Array:
    """Integral positions as indices, -1 for those outside [0, size) (and NaN)."""
    return np.where((position >= 0) & (position < size), position, -1).astype(np.int64)


def interpolate_points(x: Array, axes: Sequence[Sequence[Tap]], combine: np.ufunc = np.add) -> Array:
    """x [B, C, *spatial] at P points for each B -> [B, C, P], in the type of x.

    axes: the taps of each spatial axis; `combine` reduces the weighted pixels of all combinations, by default to a sum.
    """
    padded = append_zero(x)
    result: Array | None = None
    for taps in itertools.product(*axes):
        value = take_flat(padded, x.shape[2:], [tap.index for tap in taps])
        weight = math.prod(tap.weight for tap in taps)
        value *= np.asarray(weight, x.dtype)[:, None]
        result = value if result is None else combine(result, value, out=result)
    assert result is not None, "every axis has a tap"
    return result


def append_zero(x: Array) -> Array:
    """x [B, C, *spatial] as [B, C, elements + 1] with a zero, or an empty string, at the end."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    zero = np.full((*flat.shape[:2], 1), "" if x.dtype == object else 0, x.dtype)
    return np.concatenate([flat, zero], 2)


def take_flat(padded: Array, size: Sequence[int], indices: Sequence[Array]) -> Array:
    """The elements of padded [B, C, elements + 1] at [B, P] indices for each axis of `size` -> [B, C, P]."""
    position = np.zeros_like(indices[0])
    outside = np.zeros(position.shape, np.bool_)
    for index, n in zip(indices, size, strict=True):
        position = position * n + index
        outside |= index < 0
    position = np.where(outside, -1, position)  # the zero is last
    return np.take_along_axis(padded, position[:, None, :], 2)


def cubic_weight(distance: Array, a: float) -> Array:
    """The cubic convolution kernel with coefficient `a` at a distance of 0 or more; 0 from 2 on."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = (((distance - 5) * distance + 8) * distance - 4) * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def saturate_to_type(values: Array, dtype: np.dtype[Any]) -> Array:
    """Float values converted to `dtype`: truncated and saturated for integers, rounded for floats."""
    if dtype.kind in "iu" and dtype.itemsize <= 4:
        limits = np.iinfo(dtype)
        values = np.clip(values, limits.min, limits.max)
    return round_to_type(values, dtype)
