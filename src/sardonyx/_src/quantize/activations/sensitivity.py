"""Layers whose operands or weights 8 bits are too coarse for, measured alone.

A depthwise convolution multiplies each channel by itself: where the channels of its operand have very different ranges, the step
of the whole tensor is greater than the elements of the small ones.  Krishnamoorthi, "Quantizing deep convolutional networks for
efficient inference", 2018, section 3, measures how much depthwise networks lose so.  A filter bank that separates a faint part of
a spectrum from a loud one needs more digits of its weights, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from sardonyx._src.arguments import require_number
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Model, Node, Value
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.layers import OPERAND, WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.parameters import along, weight_integers
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.schemes.scheme import SchemeSettings, or_default
from sardonyx._src.quantize.sessions import open_session
from sardonyx._src.rewrite.engine.edit import Edit

# The least ratio of a layer's result and of the error that its rounded operand causes: most layers have 30 to 55 dB.
DEFAULT_BOUND = 25.0

# Inserts before a node what rounds an operand, and returns the rounded operand.
RoundOperand = Callable[[Edit, Value, Node], Value]
# Returns the slot of an input of a layer, and what its twin reads there.
ChangeInput = Callable[[Edit, ProductLayer], tuple[int, Value]]
COARSE = "stays float32: 8 bits alone would make its result"


@dataclass(frozen=True, slots=True)
class SensitiveLayers:
    """Reasons by the keys of layers.

    operands: why their operands stay floats.  weights: why their weights, and so all of them, do.
    """

    operands: Mapping[str, str]
    weights: Mapping[str, str]

    def kept(self, layers: Sequence[ProductLayer]) -> list[KeptLayer]:
        return [
            KeptLayer(layer.name, self.weights[layer.key]) for layer in layers if layer.key in self.weights
        ]


def sensitive_layers(
    model: Model,
    layers: Sequence[ProductLayer],
    data: CalibrationData,
    settings: SchemeSettings,
    round_operand: RoundOperand,
) -> SensitiveLayers:
    """The layers below the bound; none with random data, whose ranges say little."""
    bound = or_default(settings.bound, DEFAULT_BOUND)
    require_number("bound", bound)
    if data.is_random:
        return SensitiveLayers({}, {})
    operands, weights = twin_ratios(
        model, layers, data, [partial(rounded_operand, round_operand), rounded_weight]
    )
    return SensitiveLayers(
        {key: f"its operand {COARSE} {ratio:.1f} dB" for key, ratio in operands.items() if ratio < bound},
        {key: f"its weight {COARSE} {ratio:.1f} dB" for key, ratio in weights.items() if ratio < bound},
    )


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
        """The signal-to-noise ratio of all elements, or the mean of those of the channels if it is less; infinite without error.

        In the mean a channel counts as much as any other: what follows may scale it, or take its logarithm.
        """
        has_error = (self.signal > 0) & (self.noise > 0)
        if not has_error.any():
            return math.inf
        ratios = self.signal[has_error] / self.noise[has_error]
        total = self.signal.sum() / self.noise.sum()
        return float(10 * min(np.log10(total), np.log10(ratios).mean()))


def twin_ratios(
    model: Model, layers: Sequence[ProductLayer], data: CalibrationData, changes: Sequence[ChangeInput]
) -> list[dict[str, float]]:
    """The signal-to-noise ratio of each layer's result, in decibels, for each of the changes of an input alone."""
    if not layers:
        return [{} for _ in changes]
    edit = Edit(model.copy())
    copies = layers_of_keys(edit, [layer.key for layer in layers])
    twins = [{layer.key: twin(edit, layer, change) for layer in copies} for change in changes]
    names = dict.fromkeys(
        [layer.key for layer in layers] + [name for part in twins for name in part.values()]
    )
    sums = [{layer.key: ChannelErrors(layer) for layer in layers} for _ in changes]
    with open_session(with_outputs(edit.model, list(names))) as session:
        for feeds in data.runs:
            results = {name: np.asarray(value) for name, value in session.run(feeds).items()}
            for part, totals in zip(twins, sums, strict=True):
                for key, name in part.items():
                    totals[key].add(results[key], results[name])
    return [{key: total.ratio() for key, total in totals.items()} for totals in sums]


def twin(edit: Edit, layer: ProductLayer, change: ChangeInput) -> str:
    """A second node like that of a layer, one of whose inputs is changed; returns the name of its result."""
    node = layer.node
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    inputs = list(node.inputs)
    slot, value = change(edit, layer)
    inputs[slot] = value
    return edit.make(node.op_type, inputs, attributes, before=node, domain=node.domain).outputs[0].name


def rounded_operand(round_operand: RoundOperand, edit: Edit, layer: ProductLayer) -> tuple[int, Value]:
    return OPERAND, round_operand(edit, layer.operand, layer.node)


def rounded_weight(edit: Edit, layer: ProductLayer) -> tuple[int, Value]:
    integers, scales = weight_integers(layer.tensor.numpy(), layer.axis)
    numbers = integers.astype(np.float32) * along(scales, integers.ndim, layer.axis)
    return WEIGHT, edit.make_constant(numbers, layer.weight.name, before=layer.node)
