"""Bias correction: the mean error that rounded weights cause is subtracted from the bias.

Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019: the mean of a layer's results
moves by the error of the weights times the mean of the operand, here that of each of its channels over the calibration data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.ir import Array, Model
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.activations.observation import visit_values
from sardonyx._src.quantize.calibration import CalibrationData


def channel_means(model: Model, layers: Sequence[ProductLayer], data: CalibrationData) -> Mapping[str, Array]:
    """The mean of each channel of the layers' operands over all runs: float64 [channels], by the operand's name."""
    axes = {layer.operand.name: 1 if layer.is_convolution else -1 for layer in layers}
    sums: dict[str, Array] = {}
    counts: dict[str, int] = {}

    def add(name: str, array: Array) -> None:
        rows = np.moveaxis(array, axes[name], -1)
        rows = rows.reshape(-1, rows.shape[-1])
        sums[name] = sums.get(name, 0) + rows.sum(axis=0, dtype=np.float64)
        counts[name] = counts.get(name, 0) + len(rows)

    visit_values(model, list(axes), data, add)
    return {name: total / max(counts[name], 1) for name, total in sums.items()}
