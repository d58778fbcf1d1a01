"""Static int8: layers whose operands, weights and biases are integers, in QDQ form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.arguments import require_choice
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.activations.choice import choose_layers
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.activations.observation import observe_ranges
from sardonyx._src.quantize.activations.parameters import Range, activation_parameters
from sardonyx._src.quantize.activations.placement import group_values, wanted_values
from sardonyx._src.quantize.activations.quality import layer_reports
from sardonyx._src.quantize.activations.rewriting import IntegerPlan, quantize_layers
from sardonyx._src.quantize.activations.slower_layers import slower_layers
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.ranges.table import RANGES
from sardonyx._src.quantize.schemes.scheme import SchemeResult, SchemeSettings
from sardonyx._src.rewrite.engine.view import View
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.tools.extract import extract

DEFAULT_RANGES, DEFAULT_ACTIVATIONS = "min-max", "uint8"
ACTIVATIONS: Mapping[str, DataType] = {"uint8": DataType.UINT8, "int8": DataType.INT8}


def quantize_static(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Layers of Conv, Gemm and MatMul between QuantizeLinear and DequantizeLinear, with ranges of the calibration data."""
    ranges, activations = settings.ranges or DEFAULT_RANGES, settings.activations or DEFAULT_ACTIVATIONS
    require_choice("ranges", ranges, tuple(RANGES))
    require_choice("activations", activations, tuple(ACTIVATIONS))
    prepared = optimize(model)
    view = View(prepared)
    layers, kept = choose_layers(view, settings.patterns)
    sources = source_names(view, layers)
    observed = observe_ranges(prepared, sources, data, RANGES[ranges])
    plan = IntegerPlan(observed, ACTIVATIONS[activations], results_too=False)
    if not settings.force:
        slow = dict(slower_layers(prepared, layers, data.runs[0], lambda *args: bytes_form(plan, *args)))
        layers, kept = [layer for layer in layers if layer not in slow], [*kept, *slow.values()]
    result = quantize_layers(prepared, [layer.key for layer in layers], plan)
    reports = layer_reports(prepared, result, layers, data)
    title = f"{settings.scheme}, {activations} activations, ranges by {ranges}"
    return SchemeResult(result, reports, kept, title)


def source_names(view: View, layers: Sequence[ProductLayer]) -> list[str]:
    """The values whose ranges are needed, whichever of the layers are quantized."""
    groups = group_values(view, wanted_values(view, layers, results_too=True))
    return list(dict.fromkeys(value.name for group in groups for value in group.sources))


def bytes_form(
    plan: IntegerPlan, alone: Model, layer: ProductLayer, operand: Array
) -> tuple[Model, Mapping[str, RuntimeValue]]:
    """A layer whose operand is already quantized, as after another layer."""
    span = Range(float(operand.min(initial=0)), float(operand.max(initial=0)))
    name = layer.operand.name
    local = IntegerPlan({name: span}, plan.dtype, results_too=False)
    quantized = quantize_layers(alone, [layer.key], local)
    (pair,) = (node for node in quantized.graph.nodes if node.inputs[0] is quantized.graph.value(name))
    integers = pair.outputs[0].name
    parameters = activation_parameters(span, plan.dtype)
    return extract(quantized, inputs=[integers], outputs=[layer.key]), {
        integers: parameters.quantize(operand)
    }
