"""SmoothQuant: outliers of activations move into the weights, which have a scale for each channel.

Xiao et al., "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language Models", 2023: with a and w the
greatest magnitudes of a channel of the operand and of the weights that multiply it, the channel is divided by
a^share / w^(1 - share).  The division is folded into constants before the operand, as those of a normalization.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.ir import Array, Model, Value
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.layers import WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.observation import visit_values
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.equalization.scaling import (
    CannotFold,
    FoldedConstant,
    by_input_channel,
    fold_division,
    layers_that_read,
    replace_weight,
    scale_inputs,
)
from sardonyx._src.rewrite.engine.edit import Edit

SHARE = 0.5  # of the difficulty that the weights take over; the paper's default
FACTORS = (1e-3, 1e3)  # the least and the greatest divisor


def smooth_activations(model: Model, keys: list[str], data: CalibrationData) -> Model:
    """A copy that computes the same, whose layers of these keys have operands with fewer outliers."""
    edit = Edit(model.copy())
    groups = smoothable_groups(edit, layers_of_keys(edit, keys))
    magnitudes = channel_magnitudes(model, [value.name for value in groups], data)
    for value, (readers, constants) in groups.items():
        smooth_group(edit, readers, constants, magnitudes[value.name])
    return edit.model


def smoothable_groups(
    edit: Edit, layers: list[ProductLayer]
) -> dict[Value, tuple[list[ProductLayer], list[FoldedConstant]]]:
    """The operands of products alone that constants before them divide: these products, and these constants."""
    groups: dict[Value, tuple[list[ProductLayer], list[FoldedConstant]]] = {}
    for value in dict.fromkeys(layer.operand for layer in layers):
        readers = layers_that_read(layers, value)
        if readers is None or any(layer.is_convolution for layer in readers):
            continue
        try:
            nodes = {layer.node for layer in readers}
            groups[value] = (
                readers,
                fold_division(edit, value, nodes, readers[0].tensor.shape[1 - readers[0].axis]),
            )
        except CannotFold:  # it stays as it is
            continue
    return groups


def channel_magnitudes(model: Model, names: list[str], data: CalibrationData) -> Mapping[str, Array]:
    """The greatest magnitude of each channel, the last axis, over all runs."""
    magnitudes: dict[str, Array] = {}

    def extend(name: str, array: Array) -> None:
        seen = np.abs(array).reshape(-1, array.shape[-1]).max(axis=0, initial=0)
        magnitudes[name] = np.maximum(seen, magnitudes.get(name, seen))

    visit_values(model, names, data, extend)
    return magnitudes


def smooth_group(
    edit: Edit, readers: list[ProductLayer], constants: list[FoldedConstant], magnitudes: Array
) -> None:
    weights = [by_input_channel(edit, layer, current(edit, layer)) for layer in readers]
    largest = np.maximum.reduce(weights)
    is_used = (magnitudes > 0) & (largest > 0)
    powers = np.where(is_used, magnitudes, 1.0) ** SHARE / np.where(is_used, largest, 1.0) ** (1 - SHARE)
    factors = np.clip(powers, *FACTORS).astype(np.float32)
    for constant in constants:
        constant.scale(edit, 1 / factors)
    for layer in readers:
        replace_weight(edit, layer, scale_inputs(edit, layer, current(edit, layer), factors))


def current(edit: Edit, layer: ProductLayer) -> Array:
    """The weight that a layer reads now: it may be a constant that was divided for a later layer."""
    weight = edit.constant(layer.node.inputs[WEIGHT])
    assert weight is not None, "layers have constant weights"
    return weight
