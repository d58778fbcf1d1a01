"""The range that holds a share of all elements: the few outliers at either end are clipped.

McKinstry et al., "Discovering Low-Precision Networks Close to Full-Precision Networks for Efficient Embedded Inference", 2018.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.quantize.ranges.histogram import BINS, RangeHistogram

OUTSIDE = 1e-4  # the share of elements outside of the range, half of it at each end


def percentile_range(histogram: RangeHistogram) -> tuple[float, float]:
    """The ends of the bins within which all elements are but for `OUTSIDE` of them; zero is never outside."""
    total = int(histogram.counts.sum())
    if not total:
        return histogram.low, histogram.high
    below = np.cumsum(histogram.counts)
    limit = OUTSIDE / 2 * total
    first = int(np.searchsorted(below, limit, side="right"))
    last = int(np.searchsorted(below, total - limit, side="left"))
    low = histogram.low + histogram.width * first
    high = histogram.low + histogram.width * (min(last, BINS - 1) + 1)
    return min(low, 0.0), max(high, 0.0)
