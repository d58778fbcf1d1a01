"""The methods by which ranges of activations are found, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sardonyx._src.quantize.ranges.entropy import entropy_range
from sardonyx._src.quantize.ranges.histogram import RangeHistogram
from sardonyx._src.quantize.ranges.percentile import percentile_range
from sardonyx._src.quantize.ranges.squared_error import squared_error_range

RangeMethod: TypeAlias = Callable[[RangeHistogram], tuple[float, float]]
RANGES: Mapping[str, RangeMethod | None] = {
    "min-max": None,  # the least and the greatest element, without a histogram
    "percentile": percentile_range,
    "entropy": entropy_range,
    "mse": squared_error_range,
}
