"""The range with the least mean squared error of rounding and clipping.

Choukroun et al., "Low-bit Quantization of Neural Networks for Efficient Inference", 2019; the error of all elements of a bin
counts as that of its middle.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.quantize.ranges.histogram import LEVELS, RangeHistogram, best_range


def squared_error_range(histogram: RangeHistogram) -> tuple[float, float]:
    centers, counts = histogram.centers, histogram.counts.astype(np.float64)

    def loss(low: float, high: float) -> float:
        step = (high - low) / (LEVELS - 1)
        zero = np.rint(-low / step)
        integers = np.clip(np.rint(centers / step) + zero, 0, LEVELS - 1)
        return float(counts @ np.square((integers - zero) * step - centers))

    return best_range(histogram, loss)
