"""SmoothQuant: outliers of activations move into the weights, which have a scale for each channel.

Xiao et al., "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language Models", 2023: with a and w the
greatest magnitudes of a channel of the operand and of the weights that multiply it, the channel is divided by
a^share / w^(1 - share).  The division is folded into the scale and the bias of the normalization that computes the operand.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.ir import Array, Model, Node, Value
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.activations.observation import visit_values
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.equalization.scaling import (
    by_input_channel,
    layers_that_read,
    replace_constant,
    replace_weight,
    scale_inputs,
)
from sardonyx._src.rewrite.engine.edit import Edit

SHARE = 0.5  # of the difficulty that the weights take over; the paper's default
NORMALIZATIONS = ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
FACTORS = (1e-3, 1e3)  # the least and the greatest divisor


def smooth_activations(model: Model, keys: list[str], data: CalibrationData) -> Model:
    """A copy that computes the same, whose layers of these keys have operands with fewer outliers."""
    edit = Edit(model.copy())
    groups = smoothable_groups(edit, layers_of_keys(edit, keys))
    magnitudes = channel_magnitudes(model, [value.name for value in groups], data)
    for value, readers in groups.items():
        smooth_group(edit, value, readers, magnitudes[value.name])
    return edit.model


def smoothable_groups(edit: Edit, layers: list[ProductLayer]) -> dict[Value, list[ProductLayer]]:
    """The operands that a normalization with constant scales computes for products alone, and these products."""
    groups: dict[Value, list[ProductLayer]] = {}
    for value in dict.fromkeys(layer.operand for layer in layers):
        node, readers = value.producer, layers_that_read(layers, value)
        if (
            readers is None
            or node is None
            or not edit.is_internal(value)
            or any(r.is_convolution for r in readers)
        ):
            continue
        channels = readers[0].tensor.shape[1 - readers[0].axis]
        if (
            node.op_type in NORMALIZATIONS
            and edit.operator_of(node) is not None
            and has_scales(edit, node, channels)
        ):
            groups[value] = readers
    return groups


def has_scales(edit: Edit, node: Node, channels: int) -> bool:
    """Whether all inputs but the first are constants of one number for each channel."""
    tensors = [edit.tensor(value) for value in node.inputs[1:] if value is not None]
    return bool(tensors) and all(tensor is not None and tensor.shape == (channels,) for tensor in tensors)


def channel_magnitudes(model: Model, names: list[str], data: CalibrationData) -> Mapping[str, Array]:
    """The greatest magnitude of each channel, the last axis, over all runs."""
    magnitudes: dict[str, Array] = {}

    def extend(name: str, array: Array) -> None:
        seen = np.abs(array).reshape(-1, array.shape[-1]).max(axis=0, initial=0)
        magnitudes[name] = np.maximum(seen, magnitudes.get(name, seen))

    visit_values(model, names, data, extend)
    return magnitudes


def smooth_group(edit: Edit, value: Value, readers: list[ProductLayer], magnitudes: Array) -> None:
    weights = [by_input_channel(edit, layer, layer.tensor.numpy()) for layer in readers]
    largest = np.maximum.reduce(weights)
    is_used = (magnitudes > 0) & (largest > 0)
    powers = np.where(is_used, magnitudes, 1.0) ** SHARE / np.where(is_used, largest, 1.0) ** (1 - SHARE)
    factors = np.clip(powers, *FACTORS).astype(np.float32)
    node = value.producer
    assert node is not None, "a normalization computes the operand"
    for slot, constant in enumerate(node.inputs):
        tensor = edit.tensor(constant) if slot else None
        if tensor is not None:
            replace_constant(edit, node, slot, tensor.numpy() / factors)
    for layer in readers:
        replace_weight(edit, layer, scale_inputs(edit, layer, layer.tensor.numpy(), factors))
