"""Elements of an image at points between its pixels: a weighted sum of taps along each axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.arithmetic import narrow


@dataclass(frozen=True, slots=True)
class Tap:
    """One pixel of those that make up each point, along one axis."""

    index: Array  # [B, P] int64; -1 for a pixel outside, which counts as zero
    weight: Array  # [B, P]


def linear_taps(at: Array, size: int) -> tuple[Tap, Tap]:
    """The two pixels around each position `at` [B, P], where pixel i lies at i; pixels outside count as zero."""
    first = np.floor(at)
    share = at - first
    return Tap(inside(first, size), 1 - share), Tap(inside(first + 1, size), share)


def inside(place: Array, size: int) -> Array:
    """Whole numbers `place` as indices, -1 for what is not from 0 to size - 1 (NaN included)."""
    return np.where((place >= 0) & (place < size), place, -1).astype(np.int64)


def sampled(x: Array, axes: Sequence[Sequence[Tap]], join: np.ufunc = np.add) -> Array:
    """x [B, C, *spatial] at P points for each B -> [B, C, P], in the type of x.

    axes: the taps of each spatial axis; the weighted pixels of every combination of them are joined, by default summed.
    """
    padded = with_zero(x)
    result: Array | None = None
    for taps in itertools.product(*axes):
        value = picked(padded, x.shape[2:], [tap.index for tap in taps])
        weight = math.prod(tap.weight for tap in taps)
        value *= np.asarray(weight, x.dtype)[:, None]
        result = value if result is None else join(result, value, out=result)
    assert result is not None, "every axis has a tap"
    return result


def with_zero(x: Array) -> Array:
    """x [B, C, *spatial] as [B, C, elements + 1] with a zero, or an empty string, at the end."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    zero = np.full((*flat.shape[:2], 1), "" if x.dtype == object else 0, x.dtype)
    return np.concatenate([flat, zero], 2)


def picked(padded: Array, size: Sequence[int], indices: Sequence[Array]) -> Array:
    """The elements of padded [B, C, elements + 1] at [B, P] indices for each axis of `size` -> [B, C, P]."""
    place = np.zeros_like(indices[0])
    outside = np.zeros(place.shape, np.bool_)
    for index, n in zip(indices, size, strict=True):
        place = place * n + index
        outside |= index < 0
    place = np.where(outside, -1, place)  # the zero is last
    return np.take_along_axis(padded, place[:, None, :], 2)


def cubic_weight(distance: Array, a: float) -> Array:
    """The cubic convolution kernel with coefficient `a` at a distance of 0 or more; 0 from 2 on."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = (((distance - 5) * distance + 8) * distance - 4) * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def cut_off(values: Array, dtype: np.dtype[Any]) -> Array:
    """Float values as elements of `dtype`: integers lose their fraction and saturate, floats are rounded."""
    if dtype.kind in "iu" and dtype.itemsize <= 4:
        limits = np.iinfo(dtype)
        values = np.clip(values, limits.min, limits.max)
    return narrow(values, dtype)
