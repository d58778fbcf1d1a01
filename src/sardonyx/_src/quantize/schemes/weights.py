"""Weights of few bits: products read integers in blocks through DequantizeLinear; activations stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sardonyx._src.arguments import require_choice, require_flag, require_integer
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.observation import observe_moments
from sardonyx._src.quantize.report.quality import layer_error
from sardonyx._src.quantize.report.report import KeptLayer, LayerReport
from sardonyx._src.quantize.schemes.scheme import (
    LayerPatterns,
    SchemeResult,
    SchemeSettings,
    require_finite,
)
from sardonyx._src.quantize.weights.algorithm import Algorithm
from sardonyx._src.quantize.weights.clipped import quantize_clipped
from sardonyx._src.quantize.weights.gptq import quantize_gptq
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import WeightLayer, find_layers
from sardonyx._src.quantize.weights.nearest import quantize_nearest
from sardonyx._src.quantize.weights.rewriting import replace_weight, weight_of
from sardonyx._src.quantize.weights.slower_layers import slower_layers
from sardonyx._src.rewrite.engine.edit import Edit

ALGORITHMS: Mapping[str, Algorithm] = {
    "nearest": quantize_nearest,
    "clipped": quantize_clipped,
    "gptq": quantize_gptq,
}
DEFAULT_ALGORITHM = "clipped"
LEAST_BLOCK, MOST_BLOCK, DEFAULT_BLOCK = 16, 1024, 32


@dataclass(frozen=True, slots=True)
class WeightRounding:
    """How weights are rounded.

    block: terms of a sum that share a scale; 0 for all of a column.
    """

    algorithm: str
    block: int
    grid: IntegerGrid

    def block_of(self, layer: WeightLayer) -> int:
        return self.block or layer.terms

    def title(self, scheme: str) -> str:
        blocks = f"blocks of {self.block}" if self.block else "columns"
        return f"{scheme}, {self.algorithm}, {blocks}"


def quantize_int4(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Weights of MatMul and Gemm as integers of 4 bits."""
    return quantize_weights(model, data, settings, 4)


def quantize_int8(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Weights of MatMul and Gemm as integers of 8 bits."""
    return quantize_weights(model, data, settings, 8)


def quantize_weights(
    model: Model, data: CalibrationData, settings: SchemeSettings, bits: int
) -> SchemeResult:
    rounding = rounding_of(settings, bits)
    result = model.copy()
    edit = Edit(result)
    layers, kept = choose_layers(edit, settings.patterns)
    if not settings.force:
        slow = dict(slower_layers(model, layers, data.runs[0], rounding.block, rounding.grid))
        layers, kept = [layer for layer in layers if layer not in slow], [*kept, *slow.values()]
    reports = quantize_layers(edit, model, layers, data, rounding, settings.progress)
    return SchemeResult(result, reports, kept, rounding.title(settings.scheme))


def rounding_of(settings: SchemeSettings, bits: int) -> WeightRounding:
    """The settings, checked, with their defaults."""
    algorithm = DEFAULT_ALGORITHM if settings.algorithm is None else settings.algorithm
    block = DEFAULT_BLOCK if settings.block is None else settings.block
    symmetric = True if settings.symmetric is None else settings.symmetric
    require_choice("algorithm", algorithm, tuple(ALGORITHMS))
    require_integer("block", block, 0)
    require_flag("symmetric", symmetric)
    if block and (not LEAST_BLOCK <= block <= MOST_BLOCK or block & (block - 1)):
        what = f"block must be 0, or a power of two from {LEAST_BLOCK} to {MOST_BLOCK}; got {block}"
        raise InputError(what, name="block")
    return WeightRounding(algorithm, block, IntegerGrid(bits, symmetric))


def choose_layers(edit: Edit, patterns: LayerPatterns) -> tuple[list[WeightLayer], list[KeptLayer]]:
    layers, kept = [], []
    for item in find_layers(edit):
        if isinstance(item, KeptLayer):
            kept.append(item)
        elif why := patterns.why_not([*(node.name for node in item.readers), item.weight.name]):
            kept.append(KeptLayer(item.name, why))
        else:
            layers.append(item)
    return layers, kept


def quantize_layers(
    edit: Edit,
    model: Model,
    layers: Sequence[WeightLayer],
    data: CalibrationData,
    rounding: WeightRounding,
    progress: Callable[[int, int], None],
) -> list[LayerReport]:
    """Quantizes one layer after the other, so that few weights are in memory."""
    reports = []
    run_algorithm = ALGORITHMS[rounding.algorithm]
    for layer, moments in observe_moments(model, layers, data):
        weight = weight_of(layer)
        require_finite("model", f"the weight of {layer.name!r}", weight)
        require_finite("data", f"what the runs give the layer {layer.name!r}", moments)
        quantized = run_algorithm(weight, rounding.block_of(layer), rounding.grid, moments)
        error = layer_error(weight, quantized.values(), moments)
        reports.append(LayerReport(layer.name, layer.tensor.shape, error))
        replace_weight(edit, layer, quantized, rounding.grid)
        progress(len(reports), len(layers))
    return reports
