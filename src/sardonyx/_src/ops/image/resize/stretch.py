"""How one axis is resized: its sizes, its scale, and where the elements of the result lie in the input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sardonyx._src.ir.tensors import Array


@dataclass(frozen=True, slots=True)
class Stretch:
    """One axis of `size` elements that becomes one of `out`.

    scale: as the node gives it, or out / size where it gives sizes (the same one for all axes where it keeps the aspect
    ratio); single: whether it is a float32, with which coordinates are computed in float32, too.
    """

    size: int
    out: int
    scale: Fraction
    single: bool
    start: float = 0  # of the region of interest, from 0 to 1
    stop: float = 1

    @property
    def length(self) -> float:
        """The size of the output before it is rounded."""
        return float(self.scale * self.size)

    @property
    def is_whole(self) -> bool:
        """Whether the axis stays as it is, in whatever mode: the batch and the channels of most models."""
        return self.size == self.out and self.scale == 1 and (self.start, self.stop) == (0, 1)

    def unscaled(self, place: Array) -> Array:
        """place / scale: float32 accuracy where the scale is no more accurate, otherwise as exact as float64 is."""
        if self.single:
            return (place.astype(np.float32) / np.float32(self.scale)).astype(np.float64)
        return place * self.scale.denominator / self.scale.numerator


Coordinates = Callable[[Stretch], Array]


def asymmetric(axis: Stretch) -> Array:
    """Where each element of the output lies, as every function here: [out] float64, element i of the input at i."""
    return axis.unscaled(np.arange(axis.out, dtype=np.float64))


def half_pixel(axis: Stretch) -> Array:
    return axis.unscaled(np.arange(axis.out) + 0.5) - 0.5


def half_pixel_symmetric(axis: Stretch) -> Array:
    """half_pixel, moved so that what rounding the size has cut off is missing on both ends alike.

    Computed from the middle, which stays in the middle whatever the scale.
    """
    return axis.unscaled(np.arange(axis.out) + (1 - axis.out) / 2) + (axis.size - 1) / 2


def pytorch_half_pixel(axis: Stretch) -> Array:
    return half_pixel(axis) if axis.out > 1 else np.zeros(axis.out)


def tf_half_pixel_for_nn(axis: Stretch) -> Array:
    return axis.unscaled(np.arange(axis.out) + 0.5)


def align_corners(axis: Stretch) -> Array:
    """The first elements on one another, and the last ones where the size before rounding has them."""
    length = axis.length if axis.single else axis.out
    steps = np.arange(axis.out) * (axis.size - 1.0)
    return steps / (length - 1) if axis.out > 1 else steps


def tf_crop_and_resize(axis: Stretch) -> Array:
    """The outer elements at the ends of the region of interest; its middle for a single one."""
    last = axis.size - 1
    if axis.out <= 1:
        return np.full(axis.out, 0.5 * (axis.start + axis.stop) * last)
    return axis.start * last + np.arange(axis.out) * (axis.stop - axis.start) * last / (axis.out - 1)


COORDINATES: dict[str, Coordinates] = {
    f.__name__: f
    for f in (
        asymmetric,
        half_pixel,
        half_pixel_symmetric,
        pytorch_half_pixel,
        tf_half_pixel_for_nn,
        align_corners,
        tf_crop_and_resize,
    )
}


# --- which elements make up one of the output --------------------------------------------------

NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def nearest(at: Array, axis: Stretch, nearest_mode: str) -> Array:
    """The index of the element for each position: [out] int64."""
    if nearest_mode == "by_scale":
        nearest_mode = "floor" if axis.scale >= 1 else "ceil"
    return np.clip(NEAREST[nearest_mode](at), 0, axis.size - 1).astype(np.int64)


def triangle(distance: Array) -> Array:
    """The weight of an element in linear interpolation."""
    return np.maximum(1 - distance, 0)


def weighted(
    at: Array,
    axis: Stretch,
    kernel: Callable[[Array], Array],
    support: int,
    *,
    antialias: bool,
    exclude_outside: bool,
) -> tuple[Array, Array]:
    """The elements that make up each position: indices [out, taps] int64 and weights [out, taps].

    An element outside of the input is the one at the border, or with `exclude_outside` has no weight.
    """
    narrowing = float(min(axis.scale, Fraction(1))) if antialias else 1.0
    reach = int(np.ceil(support / narrowing))
    first = np.floor(at)[:, None]
    place = first + np.arange(1 - reach, reach + 1)
    weight = kernel(np.abs(place - at[:, None]) * narrowing)
    if exclude_outside:
        weight = np.where((place >= 0) & (place < axis.size), weight, 0)
    if exclude_outside or narrowing < 1:
        total = weight.sum(1, keepdims=True)
        weight = weight / np.where(total == 0, 1, total)
    used = weight.any(0)
    return np.clip(place, 0, axis.size - 1).astype(np.int64)[:, used], weight[:, used]
