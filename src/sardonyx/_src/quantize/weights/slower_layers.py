"""Layers that are slower here with a quantized weight, measured alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sardonyx._src.ir import Array, Model
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.report.latency import latencies
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import WeightLayer, find_layers
from sardonyx._src.quantize.weights.nearest import quantize_nearest
from sardonyx._src.quantize.weights.rewriting import replace_weight, weight_of
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.tools.extract import extract

TOLERANCE = 1.05  # of the time of the original: less is noise


def slower_layers(
    model: Model,
    layers: Sequence[WeightLayer],
    feeds: Mapping[str, RuntimeValue],
    block: int,
    grid: IntegerGrid,
) -> Iterator[tuple[WeightLayer, KeptLayer]]:
    """The layers whose product takes longer with quantized weights, for operands as those of a run with these feeds.

    Layers of equal shapes are measured once.
    """
    names = list(dict.fromkeys(layer.operands[0].name for layer in layers))
    operands = Session(with_outputs(model, names), shapes="off", seed=0).run(feeds) if names else {}
    ratios: dict[object, float] = {}
    for layer in layers:
        operand = np.asarray(operands[layer.operands[0].name])
        key = layer.readers[0].op_type, layer.tensor.shape, layer.axis, operand.shape
        if key not in ratios:
            ratios[key] = time_ratio(model, layer, operand, block, grid)
        if ratios[key] > TOLERANCE:
            yield layer, KeptLayer(layer.name, f"it is slower here: {1 / ratios[key]:.2f} times as fast")


def time_ratio(model: Model, layer: WeightLayer, operand: Array, block: int, grid: IntegerGrid) -> float:
    """The time of a layer's first product with a quantized weight, of that with the original one."""
    product = layer.readers[0]
    inputs = [operand_value.name for operand_value in layer.operands[:1]]
    alone = extract(model, inputs=inputs, outputs=[product.outputs[0].name])
    quantized = alone.copy()
    edit = Edit(quantized)
    for item in find_layers(edit):
        if isinstance(item, WeightLayer):
            replace_weight(
                edit, item, quantize_nearest(weight_of(item), block or item.terms, grid, None), grid
            )
    before, after = latencies((alone, quantized), {inputs[0]: operand})
    return after / before
