"""Resampling of one axis: sizes, scale, coordinate transformations, and interpolation taps."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class ResampledAxis:
    """An axis of `size` elements resampled to `out` elements.

    scale: the scale of the node; if the node gives sizes, out / size, or one scale for all axes if the aspect ratio is
    preserved.
    is_float32: whether `scale` is a float32 of the node; coordinates are then computed in float32.
    start, stop: the region of interest, as fractions of the axis.
    """

    size: int
    out: int
    scale: Fraction
    is_float32: bool
    start: float = 0
    stop: float = 1

    @property
    def length(self) -> float:
        """The size of the output before it is rounded."""
        return float(self.scale * self.size)

    @property
    def is_identity(self) -> bool:
        """Whether resampling changes nothing in any mode, as for the batch and channels of most models."""
        return self.size == self.out and self.scale == 1 and (self.start, self.stop) == (0, 1)

    def divide_by_scale(self, coordinate: Array) -> Array:
        """coordinate / scale, in float32 if the scale is a float32, else in float64."""
        if self.is_float32:
            return (coordinate.astype(np.float32) / np.float32(self.scale)).astype(np.float64)
        return coordinate * self.scale.denominator / self.scale.numerator


# A coordinate transformation: the input coordinate of each output element, [out] float64.  The functions are named for the
# values of coordinate_transformation_mode.
Coordinates = Callable[[ResampledAxis], Array]


def asymmetric(axis: ResampledAxis) -> Array:
    """Aligns the first elements of input and output."""
    return axis.divide_by_scale(np.arange(axis.out, dtype=np.float64))


def half_pixel(axis: ResampledAxis) -> Array:
    """Aligns the start of the first pixels; element i is the center of a pixel from i - 0.5 to i + 0.5."""
    return axis.divide_by_scale(np.arange(axis.out) + 0.5) - 0.5


def half_pixel_symmetric(axis: ResampledAxis) -> Array:
    """half_pixel, shifted so that the part of the size that rounding cuts off is missing equally at both ends.

    Coordinates are computed from the center, which is aligned whatever the scale.
    """
    return axis.divide_by_scale(np.arange(axis.out) + (1 - axis.out) / 2) + (axis.size - 1) / 2


def pytorch_half_pixel(axis: ResampledAxis) -> Array:
    return half_pixel(axis) if axis.out > 1 else np.zeros(axis.out)


def tf_half_pixel_for_nn(axis: ResampledAxis) -> Array:
    return axis.divide_by_scale(np.arange(axis.out) + 0.5)


def align_corners(axis: ResampledAxis) -> Array:
    """Aligns the first elements, and the last element of the input with that of an output of the size before rounding."""
    length = axis.length if axis.is_float32 else axis.out
    steps = np.arange(axis.out) * (axis.size - 1.0)
    return steps / (length - 1) if axis.out > 1 else steps


def tf_crop_and_resize(axis: ResampledAxis) -> Array:
    """Aligns the outer elements with the ends of the region of interest; a single element with its center."""
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


# --- taps: the input elements that make up an output element -----------------------------------

NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda positions: np.ceil(positions - 0.5),
    "round_prefer_ceil": lambda positions: np.floor(positions + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def nearest(positions: Array, axis: ResampledAxis, nearest_mode: str) -> Array:
    """The index of the nearest element of each position: [out] int64."""
    if nearest_mode == "by_scale":
        nearest_mode = "floor" if axis.scale >= 1 else "ceil"
    return np.clip(NEAREST[nearest_mode](positions), 0, axis.size - 1).astype(np.int64)


def triangle(distance: Array) -> Array:
    """The weight of an element at this distance in linear interpolation."""
    return np.maximum(1 - distance, 0)


def interpolation_taps(
    positions: Array,
    axis: ResampledAxis,
    kernel: Callable[[Array], Array],
    support: int,
    *,
    antialias: bool,
    exclude_outside: bool,
) -> tuple[Array, Array]:
    """The taps of each position: indices [out, taps] int64 and weights [out, taps].

    kernel: the weight by distance, which is 0 from a distance of `support` on.
    antialias: whether the kernel is stretched to the distance of output elements on an axis that shrinks.
    exclude_outside: whether a tap outside the input has weight 0; else it reads the border element.
    """
    filter_scale = float(min(axis.scale, Fraction(1))) if antialias else 1.0
    radius = int(np.ceil(support / filter_scale))
    first = np.floor(positions)[:, None]
    coordinate = first + np.arange(1 - radius, radius + 1)
    weight = kernel(np.abs(coordinate - positions[:, None]) * filter_scale)
    if exclude_outside:
        weight = np.where((coordinate >= 0) & (coordinate < axis.size), weight, 0)
    if exclude_outside or filter_scale < 1:
        total = weight.sum(1, keepdims=True)
        weight = weight / np.where(total == 0, 1, total)
    used = weight.any(0)  # taps that have weight 0 for every position are dropped
    return np.clip(coordinate, 0, axis.size - 1).astype(np.int64)[:, used], weight[:, used]
