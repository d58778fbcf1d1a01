"""Layers whose operands one scale of 8 bits is too coarse for, measured alone.

A depthwise convolution multiplies each channel by itself: where the channels of its operand have very different ranges, the step
of the whole tensor is greater than the elements of the small ones.  Krishnamoorthi, "Quantizing deep convolutional networks for
efficient inference", 2018, section 3, measures how much depthwise networks lose so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sardonyx._src.arguments import require_number
from sardonyx._src.ir import Array, Model, Node, Value
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.layers import OPERAND, ProductLayer
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.schemes.scheme import SchemeSettings, or_default
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.runtime.session.session import Session

# The least ratio of a layer's result and of the error that its rounded operand causes: most layers have 35 to 55 dB.
DEFAULT_BOUND = 30.0

# Inserts before a node what rounds an operand, and returns the rounded operand.
RoundOperand = Callable[[Edit, Value, Node], Value]


def sensitive_layers(
    model: Model,
    layers: Sequence[ProductLayer],
    data: CalibrationData,
    settings: SchemeSettings,
    round_operand: RoundOperand,
) -> Mapping[str, str]:
    """The keys of layers below the bound, and why their operands stay floats; none with random data, whose ranges say little."""
    bound = or_default(settings.bound, DEFAULT_BOUND)
    require_number("bound", bound)
    ratios = {} if data.is_random else operand_ratios(model, layers, data, round_operand)
    return {
        key: f"its operand stays float32: 8 bits alone would make its result {ratio:.1f} dB"
        for key, ratio in ratios.items()
        if ratio < bound
    }


class ChannelErrors:
    """Sums of squares of a layer's result and of its error: float64 [channels]."""

    def __init__(self, layer: ProductLayer) -> None:
        self.axis = 1 if layer.is_convolution else -1
        self.signal = self.noise = np.zeros(layer.channels)

    def add(self, exact: Array, rounded: Array) -> None:
        self.signal = self.signal + self.squares(exact)
        self.noise = self.noise + self.squares(rounded - exact)

    def squares(self, array: Array) -> Array:
        rows = np.moveaxis(array, self.axis, -1).reshape(-1, array.shape[self.axis])
        return np.asarray(np.square(rows, dtype=np.float64).sum(axis=0))

    def ratio(self) -> float:
        """The mean of the channels' signal-to-noise ratios in decibels; infinite without error.

        A channel counts as much as any other: what follows may scale it, or take its logarithm.
        """
        has_error = (self.signal > 0) & (self.noise > 0)
        if not has_error.any():
            return math.inf
        ratios = self.signal[has_error] / self.noise[has_error]
        return float(10 * np.log10(ratios).mean())


def operand_ratios(
    model: Model, layers: Sequence[ProductLayer], data: CalibrationData, round_operand: RoundOperand
) -> dict[str, float]:
    """The signal-to-noise ratio of each layer's result, in decibels, if its operand alone is rounded."""
    if not layers:
        return {}
    edit = Edit(model.copy())
    twins = {
        layer.key: rounded_twin(edit, layer, round_operand)
        for layer in layers_of_keys(edit, [layer.key for layer in layers])
    }
    session = Session(with_outputs(edit.model, [*twins, *twins.values()]), shapes="off", seed=0)
    sums = {layer.key: ChannelErrors(layer) for layer in layers}
    for feeds in data.runs:
        results = session.run(feeds)
        for key, twin in twins.items():
            sums[key].add(np.asarray(results[key]), np.asarray(results[twin]))
    return {key: total.ratio() for key, total in sums.items()}


def rounded_twin(edit: Edit, layer: ProductLayer, round_operand: RoundOperand) -> str:
    """A second node like that of a layer, whose operand is rounded; returns the name of its result."""
    node = layer.node
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    inputs = list(node.inputs)
    inputs[OPERAND] = round_operand(edit, layer.operand, node)
    twin = edit.make(node.op_type, inputs, attributes, before=node, domain=node.domain)
    return twin.outputs[0].name
