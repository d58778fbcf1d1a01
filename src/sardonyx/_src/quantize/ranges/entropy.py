"""The range whose distribution of integers loses the least information: the Kullback-Leibler divergence.

Migacz, "8-bit Inference with TensorRT", 2017: the distribution of the clipped elements is compared with that of the integers,
each of which spreads its share evenly over those of its bins that have elements.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.quantize.ranges.histogram import BINS, LEVELS, RangeHistogram, best_range


def entropy_range(histogram: RangeHistogram) -> tuple[float, float]:
    def loss(low: float, high: float) -> float:
        first = int((low - histogram.low) / histogram.width)
        last = min(int(np.ceil((high - histogram.low) / histogram.width)), BINS)
        return divergence(histogram.counts, first, last)

    return best_range(histogram, loss)


def divergence(counts: Array, first: int, last: int) -> float:
    """The divergence of the integers of the bins first to last, which all elements are clipped to; infinite for too few bins."""
    if last - first < LEVELS:
        return np.inf
    inside = counts[first:last].astype(np.float64)
    clipped = inside.copy()
    clipped[0] += counts[:first].sum()
    clipped[-1] += counts[last:].sum()
    levels = np.arange(last - first) * LEVELS // (last - first)
    is_present = clipped > 0
    sums = np.bincount(levels, inside, LEVELS)
    spread = (sums / np.maximum(np.bincount(levels, is_present, LEVELS), 1))[levels] * is_present
    total, spread_total = clipped.sum(), spread.sum()
    if not total or not spread_total:
        return np.inf
    p, q = clipped[is_present] / total, spread[is_present] / spread_total
    # A bin that holds clipped elements alone has no share in the integers: that of half an element keeps the logarithm finite.
    return float(np.sum(p * np.log(p / np.maximum(q, 0.5 / total))))
