"""Layers whose operands one scale of 8 bits is too coarse for, measured alone.

A depthwise convolution multiplies each channel by itself: where the channels of its operand have very different ranges, the step
of the whole tensor is greater than the elements of the small ones.  Krishnamoorthi, "Quantizing deep convolutional networks for
efficient inference", 2018, section 3, measures how much depthwise networks lose so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sardonyx._src.arguments import require_number
from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.layers import OPERAND, ProductLayer
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.report.quality import ErrorSums
from sardonyx._src.quantize.schemes.scheme import SchemeSettings, or_default
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.runtime.session.session import Session

# The least ratio of a layer's result and of the error that its rounded operand causes: most layers have 30 to 40 dB.
DEFAULT_BOUND = 20.0

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
    sums = {key: ErrorSums() for key in twins}
    for feeds in data.runs:
        results = session.run(feeds)
        for key, twin in twins.items():
            sums[key].add(results[key], results[twin])
    return {key: total.error(key).signal_to_noise for key, total in sums.items()}


def rounded_twin(edit: Edit, layer: ProductLayer, round_operand: RoundOperand) -> str:
    """A second node like that of a layer, whose operand is rounded; returns the name of its result."""
    node = layer.node
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    inputs = list(node.inputs)
    inputs[OPERAND] = round_operand(edit, layer.operand, node)
    twin = edit.make(node.op_type, inputs, attributes, before=node, domain=node.domain)
    return twin.outputs[0].name
