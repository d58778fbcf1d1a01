"""Ranges of activations over runs with the calibration data, observed run by run: extents first, then histograms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sardonyx._src.ir import Array, Model
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.quantize.activations.parameters import Range
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.ranges.histogram import RangeHistogram
from sardonyx._src.quantize.ranges.table import RangeMethod
from sardonyx._src.quantize.schemes.scheme import require_finite
from sardonyx._src.quantize.sessions import open_session


def observe_ranges(
    model: Model, names: Sequence[str], data: CalibrationData, method: RangeMethod | None
) -> dict[str, Range]:
    """The range of each named value of the main graph.

    method: from the histogram of a value; without one, the range is that of its least and greatest element.
    """
    extents: dict[str, Range] = {}

    def extend(name: str, array: Array) -> None:
        require_finite("data", f"the values {name!r} of the runs", array)
        seen = Range(float(array.min(initial=0)), float(array.max(initial=0)))
        extents[name] = seen.union(extents.get(name, seen))

    visit_values(model, names, data, extend)
    if method is None:
        return extents
    histograms = {name: RangeHistogram.of(extent.low, extent.high) for name, extent in extents.items()}
    visit_values(model, names, data, lambda name, array: histograms[name].add(array))
    return {name: ranged(method, histogram) for name, histogram in histograms.items()}


def ranged(method: RangeMethod, histogram: RangeHistogram) -> Range:
    return Range(*method(histogram))


def visit_values(
    model: Model, names: Sequence[str], data: CalibrationData, visit: Callable[[str, Array], None]
) -> None:
    """Calls a function with each named value of each run."""
    if not names:
        return
    with open_session(with_outputs(model, names)) as session:
        for feeds in data.runs:
            results: Mapping[str, object] = session.run(feeds)
            for name in names:
                visit(name, np.asarray(results[name]))
