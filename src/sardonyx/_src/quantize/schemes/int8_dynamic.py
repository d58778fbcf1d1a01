"""Dynamic int8: each run measures the ranges of activations; weights are int8, sums int32, by standard operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.activations.choice import choose_layers
from sardonyx._src.quantize.activations.dynamic import quantize_layers, round_operand
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.activations.mean_shift import BiasCorrection
from sardonyx._src.quantize.activations.quality import layer_reports
from sardonyx._src.quantize.activations.sensitivity import sensitive_layers
from sardonyx._src.quantize.activations.slower_layers import slower_layers, slower_model
from sardonyx._src.quantize.activations.stored_weights import store_other_weights
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.equalization.bias_correction import channel_means, result_shifts
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.schemes.scheme import SHARING, SchemeResult, SchemeSettings
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.view import View
from sardonyx._src.rewrite.optimize import optimize


def quantize_dynamic(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Layers of Conv, Gemm and MatMul as DynamicQuantizeLinear and MatMulInteger or ConvInteger, with scales after the sums."""
    prepared = optimize(model)
    layers, kept = choose_layers(View(prepared), settings.patterns)
    if not settings.force:
        slow = dict(slower_layers(prepared, layers, data.runs[0], dynamic_form))
        layers, kept = [layer for layer in layers if layer not in slow], [*kept, *slow.values()]
    sensitive = sensitive_layers(prepared, layers, data, settings, round_operand)
    floats, kept = sensitive.operands, [*kept, *sensitive.kept(layers)]
    layers = [layer for layer in layers if layer.key not in sensitive.weights]
    keys = [layer.key for layer in layers]
    correction = BiasCorrection({} if data.is_random else channel_means(prepared, layers, data))
    result = quantize_layers(prepared, keys, floats, correction)
    if not data.is_random:
        shifts = result_shifts(prepared, result, layers, data)
        result = quantize_layers(prepared, keys, floats, replace(correction, shifts=shifts))
    stored = store_other_weights(Edit(result), settings.patterns)
    result = optimize(result, passes=SHARING)
    title = f"{settings.scheme}, ranges of each run"
    if not settings.force and layers and (slower := slower_model(prepared, result, data.runs[0])):
        return SchemeResult(model, [], [*kept, *(KeptLayer(layer.name, slower) for layer in layers)], title)
    reports = layer_reports(prepared, result, layers, data, floats)
    return SchemeResult(result, [*reports, *stored], kept, title)


def dynamic_form(
    alone: Model, layer: ProductLayer, operand: Array
) -> tuple[Model, Mapping[str, RuntimeValue]]:
    """A layer in integers, which measures the range of its operand."""
    return quantize_layers(alone, [layer.key]), {layer.operand.name: operand}
