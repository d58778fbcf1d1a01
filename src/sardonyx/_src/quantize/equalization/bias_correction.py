"""Bias correction: the mean error that rounded weights cause is subtracted from the bias.

Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019: the mean of a layer's results
moves by the error of the weights times the mean of the operand, here that of each of its channels over the calibration data.
What rounded activations and the operators between layers add is measured at the last layers, whose results no later layer
mixes.  The mean over few rows is itself uncertain: it counts where it is far from 0 beside its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.ir import Array, Model
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.activations.observation import visit_values
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.rewrite.engine.view import View

# Standard errors: the mean of rows without any error is beyond in one of 16,000 channels.
SIGNIFICANT = 4.0


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


def result_shifts(
    original: Model, changed: Model, layers: Sequence[ProductLayer], data: CalibrationData
) -> dict[str, Array]:
    """The mean error of each channel of the results of the last layers with biases: float32 [channels], by key."""
    chosen = [layer for layer in last_layers(View(original), layers) if layer.bias is not None]
    rows: dict[str, list[Array]] = {layer.key: [] for layer in chosen}
    exact: dict[str, list[Array]] = {layer.key: [] for layer in chosen}
    axes = {layer.key: 1 if layer.is_convolution else -1 for layer in chosen}
    visit_values(original, list(rows), data, lambda key, array: exact[key].append(array))
    visit_values(changed, list(rows), data, lambda key, array: rows[key].append(array))
    return {
        key: significant_mean(
            np.concatenate([*map(row_means, actual, exact[key], [axes[key]] * len(actual))])
        )
        for key, actual in rows.items()
    }


def last_layers(view: View, layers: Sequence[ProductLayer]) -> list[ProductLayer]:
    """The layers whose results no other one depends on."""
    nodes = {layer.node.outputs[0].name: layer for layer in layers}
    is_before: set[str] = set()  # values that a layer depends on
    last = []
    for node in reversed(list(view.model.graph.nodes)):
        names = [value.name for value in node.outputs]
        layer = nodes.get(names[0]) if names else None
        if is_before.intersection(names) or layer is not None:
            if layer is not None and not is_before.intersection(names):
                last.append(layer)
            is_before.update(value.name for value in node.inputs if value is not None)
    return last


def row_means(actual: Array, exact: Array, axis: int) -> Array:
    """The mean error of each row and channel: float64 [rows, channels]."""
    errors = np.moveaxis(np.subtract(actual, exact, dtype=np.float64), axis, -1)
    if not errors.size:
        return np.zeros((0, errors.shape[-1]))
    return np.asarray(errors.reshape(len(errors), -1, errors.shape[-1]).mean(axis=1))


def significant_mean(rows: Array) -> Array:
    """The mean of rows where it is `SIGNIFICANT` standard errors from 0, else 0; zeros for fewer than two rows."""
    if len(rows) < 2:
        return np.zeros(rows.shape[-1], np.float32)
    mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
    return np.asarray(np.where(np.abs(mean) > SIGNIFICANT * error, mean, 0), np.float32)
