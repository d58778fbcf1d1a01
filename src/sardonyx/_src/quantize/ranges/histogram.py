"""The histogram of an activation, and the search of the range whose loss over a histogram is least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array

BINS = 4096  # of the extent of an activation: sixteen for each integer of 8 bits
LEVELS = 256  # integers of 8 bits
SHARES = np.linspace(1.0, 0.1, 46)  # of the extent, of which each end is tried
SWEEPS = 3  # over both ends: each end is searched with the other one as it is


@dataclass(frozen=True, slots=True)
class RangeHistogram:
    """Counts of bins of equal width from low to high, with zero inside: int64 [BINS]."""

    low: float
    high: float
    counts: Array = field(default_factory=lambda: np.zeros(BINS, np.int64))

    @classmethod
    def of(cls, low: float, high: float) -> RangeHistogram:
        return cls(min(low, 0.0), max(high, 0.0))

    def add(self, numbers: Array) -> None:
        """Counts the elements of an array; those outside go to the bins of the ends."""
        if self.high > self.low:
            clipped = np.clip(numbers.reshape(-1), self.low, self.high)
            self.counts[:] += np.histogram(clipped, BINS, (self.low, self.high))[0]

    @property
    def width(self) -> float:
        return (self.high - self.low) / BINS

    @property
    def centers(self) -> Array:
        """The middle of each bin: float64 [BINS]."""
        return np.asarray(self.low + self.width * (np.arange(BINS) + 0.5))


def best_range(histogram: RangeHistogram, loss: Callable[[float, float], float]) -> tuple[float, float]:
    """The ends, as shares of those of the histogram, with the least loss: coordinate descent from the whole extent.

    The loss is at most that of the whole extent.
    """
    low, high = histogram.low, histogram.high
    if not high > low:
        return low, high
    best = loss(low, high)
    for share in SHARES[1:]:
        tried = loss(histogram.low * share, histogram.high * share)
        if tried < best:
            best, low, high = tried, float(histogram.low * share), float(histogram.high * share)
    for _ in range(SWEEPS):
        before = best
        for share in SHARES:
            for ends in ((histogram.low * share, high), (low, histogram.high * share)):
                tried = loss(*ends) if ends[1] > ends[0] else np.inf
                if tried < best:
                    best, (low, high) = tried, (float(ends[0]), float(ends[1]))
        if best == before:
            break
    return low, high
