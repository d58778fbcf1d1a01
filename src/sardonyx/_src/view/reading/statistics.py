"""Statistics of the elements of a tensor."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.view.page_data import Statistics

BINS = 32


def statistics_of(array: Array) -> Statistics | None:
    """Extremes, mean, deviation and histogram of the finite elements; None if there are none, and for strings.

    Complex elements count by their magnitude.
    """
    if array.dtype.kind in "OSU" or not array.size:
        return None
    flat = array.reshape(-1)
    wide = np.abs(flat) if flat.dtype.kind == "c" else flat
    values = wide.astype(np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    return {
        "minimum": low,
        "maximum": high,
        "mean": finite_or(float(finite.mean()), low),
        "deviation": finite_or(float(finite.std()), 0.0),
        "zeros": int(np.count_nonzero(finite == 0)),
        "notFinite": int(values.size - finite.size),
        "histogram": histogram(finite, low, high),
    }


def histogram(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], low: float, high: float
) -> list[int]:
    """Counts in bins of equal width; one bin if all values are equal, or their range overflows."""
    if not low < high or not np.isfinite(high - low):
        return [int(values.size)]
    bins = np.minimum((values - low) * (BINS / (high - low)), BINS - 1).astype(np.int64)
    return [int(count) for count in np.bincount(bins, minlength=BINS)]


def finite_or(value: float, otherwise: float) -> float:
    """The value, unless it has overflowed."""
    return value if np.isfinite(value) else otherwise
