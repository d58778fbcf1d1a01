"""Layers that are slower here with a quantized weight, measured alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.layers_measured_alone import slower_alone
from sardonyx._src.quantize.report.latency import latencies
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.weights.layers import WeightLayer, find_layers
from sardonyx._src.quantize.weights.rounding import WeightRounding
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.tools.extract import extract


def slower_layers(
    model: Model,
    layers: Sequence[WeightLayer],
    feeds: Mapping[str, RuntimeValue],
    rounding: WeightRounding,
) -> Iterator[tuple[WeightLayer, KeptLayer]]:
    """The layers whose product takes longer with quantized weights, for operands as those of a run with these feeds.

    Layers of equal shapes are measured once.  Layers of other kinds are not measured: their weights are dequantized when a
    session is opened.
    """
    return slower_alone(
        model, first_operands(layers), feeds, signature_of, partial(time_ratio, model, rounding)
    )


def first_operands(layers: Sequence[WeightLayer]) -> dict[WeightLayer, str]:
    return {layer: layer.operands[0].name for layer in layers if layer.operands}


def signature_of(layer: WeightLayer) -> object:
    return layer.readers[0].op_type, layer.tensor.shape, layer.axis


def time_ratio(model: Model, rounding: WeightRounding, layer: WeightLayer, operand: Array) -> float:
    """The time of a layer's first product with a quantized weight, of that with the original one."""
    alone = first_product(model, layer)
    quantized = alone.copy()
    edit = Edit(quantized)
    nearest = replace(rounding, algorithm="nearest", is_contrib=False)
    for item in find_layers(edit, rounding.grid.bits):
        if isinstance(item, WeightLayer):
            nearest.apply(edit, item, None)
    before, after = latencies((alone, quantized), {layer.operands[0].name: operand})
    return after / before


def first_product(model: Model, layer: WeightLayer) -> Model:
    """The first product of a layer, as a model of its operand."""
    product = next(node for node in layer.readers if layer.operands[0] in node.inputs)
    return extract(model, inputs=[layer.operands[0].name], outputs=[product.outputs[0].name])
