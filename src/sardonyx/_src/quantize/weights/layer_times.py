"""The time of each layer alone on this machine, in floats and with a quantized weight, for a bound on the latency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.layers_measured_alone import measure_alone
from sardonyx._src.quantize.report.latency import latencies
from sardonyx._src.quantize.weights.layers import WeightLayer
from sardonyx._src.quantize.weights.rounding import WeightRounding
from sardonyx._src.quantize.weights.slower_layers import (
    first_operands,
    first_product,
    signature_of,
    time_ratio,
)


@dataclass(frozen=True, slots=True)
class LayerTimes:
    """Seconds of a run, with the default number of threads.

    model: of the whole model in floats.
    floats: of the first product of each layer; layers that are no products are not measured.
    ratios: of that time, with a quantized weight.
    """

    model: float
    floats: Mapping[WeightLayer, float]
    ratios: Mapping[tuple[WeightLayer, WeightRounding], float]

    def cost(self, layer: WeightLayer, rounding: WeightRounding | None) -> float:
        """The seconds of a layer; 0 in any form of one that was not measured."""
        ratio = 1.0 if rounding is None else self.ratios.get((layer, rounding), 1.0)
        return self.floats.get(layer, 0.0) * ratio


# model, how each layer can be rounded, and the feeds of a run
Measure: TypeAlias = Callable[
    [Model, Mapping[WeightLayer, Sequence[WeightRounding]], Mapping[str, RuntimeValue]], LayerTimes
]


def measure_times(
    model: Model,
    choices: Mapping[WeightLayer, Sequence[WeightRounding]],
    feeds: Mapping[str, RuntimeValue],
) -> LayerTimes:
    """The times on this machine, for operands as those of a run with these feeds."""
    (total,) = latencies((model,), feeds)
    layers = [layer for layer, roundings in choices.items() if roundings]
    floats = dict(
        measure_alone(model, first_operands(layers), feeds, signature_of, partial(float_time, model))
    )
    ratios: dict[tuple[WeightLayer, WeightRounding], float] = {}
    for rounding in dict.fromkeys(rounding for roundings in choices.values() for rounding in roundings):
        chosen = first_operands([layer for layer in layers if rounding in choices[layer]])
        ratio_of = partial(time_ratio, model, rounding)
        for layer, ratio in measure_alone(model, chosen, feeds, signature_of, ratio_of):
            ratios[layer, rounding] = ratio
    return LayerTimes(total, floats, ratios)


def float_time(model: Model, layer: WeightLayer, operand: Array) -> float:
    (seconds,) = latencies((first_product(model, layer),), {layer.operands[0].name: operand})
    return seconds
