"""float8e4m3fn: weights of products and convolutions, and where asked their operands, through DequantizeLinear of ai.onnx 19.

Micikevicius et al., "FP8 Formats for Deep Learning", 2022: a scale maps the largest magnitude of a tensor, or of an output
channel of a weight, to the largest number of the type, 448.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.arguments import require_choice
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Tensor, Value
from sardonyx._src.quantize.activations.choice import choose_layers, layers_of_keys
from sardonyx._src.quantize.activations.constants import dequantize_constant, drop_unused
from sardonyx._src.quantize.activations.layers import OPERAND, WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.observation import observe_ranges
from sardonyx._src.quantize.activations.quality import layer_reports
from sardonyx._src.quantize.activations.slower_layers import slower_model
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.precision.element_types import limits
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.schemes.scheme import SchemeResult, SchemeSettings, or_default
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.view import View

FLOAT8 = DataType.FLOAT8E4M3FN
# Below it, a scale is that of zeros to speak of.
LEAST_SCALE = 1e-20


def quantize_float8(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Weights of Conv, Gemm and MatMul in float8, with a scale for each output channel.

    `settings.activations` "float8" also rounds their operands, with a scale for each tensor.
    """
    require_choice("activations", or_default(settings.activations, "float8"), ("float8",))
    layers, kept = choose_layers(View(model), settings.patterns)
    largest = largest_operands(model, layers, data) if settings.activations else {}
    edit = Edit(model.copy())
    for layer in layers_of_keys(edit, [layer.key for layer in layers]):
        write_weight(edit, layer)
        write_operand(edit, layer, largest)
    what = "weights and activations" if settings.activations else "weights"
    title = f"{settings.scheme}, {what}"
    if layers and not settings.force and (slower := slower_model(model, edit.model, data.runs[0])):
        return SchemeResult(model, [], [*kept, *(KeptLayer(layer.name, slower) for layer in layers)], title)
    return SchemeResult(edit.model, layer_reports(model, edit.model, layers, data), kept, title)


def largest_operands(
    model: Model, layers: Sequence[ProductLayer], data: CalibrationData
) -> Mapping[str, float]:
    """The largest magnitude of each operand over the runs."""
    ranges = observe_ranges(model, list(dict.fromkeys(layer.operand.name for layer in layers)), data, None)
    return {name: max(-span.low, span.high) for name, span in ranges.items()}


def write_weight(edit: Edit, layer: ProductLayer) -> None:
    """The layer reads its weight from a DequantizeLinear."""
    numbers = layer.tensor.numpy()
    others = tuple(axis for axis in range(numbers.ndim) if axis != layer.axis)
    scales = scale_of(np.abs(numbers).max(axis=others, keepdims=True))
    rounded = (numbers / scales).astype(FLOAT8.numpy)
    dequantize_constant(edit, layer.node, WEIGHT, (rounded, scales.reshape(-1)), layer.axis, layer.weight)
    drop_unused(edit, layer.weight)


def write_operand(edit: Edit, layer: ProductLayer, largest: Mapping[str, float]) -> None:
    """The layer reads its operand through a pair of QuantizeLinear and DequantizeLinear."""
    name = layer.operand.name
    if name not in largest:
        return
    scale = edit.make_constant(scale_of(np.float32(largest[name])), f"{name}_scale", before=layer.node)
    zero = edit.make_constant(Tensor.of(np.zeros((), FLOAT8.numpy)), f"{name}_zero_point", before=layer.node)
    value = layer.operand
    for op_type in ("QuantizeLinear", "DequantizeLinear"):
        inputs: list[Value | None] = [value, scale, zero]
        value = edit.make(op_type, inputs, before=layer.node, value_names=[f"{name}_{op_type}"]).outputs[0]
    operands = list(layer.node.inputs)
    operands[OPERAND] = value
    edit.update(layer.node, inputs=operands)


def scale_of(largest: Array | np.float32) -> Array:
    """The scales that map largest magnitudes to the largest number of the type, float32."""
    scales = np.asarray(largest, np.float32) / np.float32(limits(FLOAT8).largest)
    return np.where(scales > LEAST_SCALE, scales, np.float32(1)).astype(np.float32)
