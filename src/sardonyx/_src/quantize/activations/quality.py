"""The errors of the results of layers, in the quantized network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.ir import Model
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.report.quality import ErrorSums
from sardonyx._src.quantize.report.report import LayerReport
from sardonyx._src.quantize.sessions import open_session


def layer_reports(
    original: Model,
    changed: Model,
    layers: Sequence[ProductLayer],
    data: CalibrationData,
    notes: Mapping[str, str] | None = None,
) -> list[LayerReport]:
    """The errors over all runs.  They contain those of earlier layers.

    notes: on layers, by key.
    """
    if not layers:
        return []
    names = list(dict.fromkeys(layer.key for layer in layers))
    sums = {name: ErrorSums() for name in names}
    first, second = (with_outputs(model, names) for model in (original, changed))
    with open_session(first) as exact, open_session(second) as rounded:
        for feeds in data.runs:
            expected, actual = exact.run(feeds), rounded.run(feeds)
            for name in names:
                sums[name].add(np.asarray(expected[name]), np.asarray(actual[name]))
    ratios = {name: total.error(name).signal_to_noise for name, total in sums.items()}
    return [
        LayerReport(layer.name, layer.tensor.shape, ratios[layer.key], note=(notes or {}).get(layer.key, ""))
        for layer in layers
    ]
