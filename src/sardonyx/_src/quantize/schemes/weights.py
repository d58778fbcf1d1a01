"""Weights of few bits: layers read integers in blocks through DequantizeLinear; activations stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.arguments import require_choice, require_flag, require_integer, require_number
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.schemes.scheme import LayerPatterns, SchemeResult, SchemeSettings, or_default
from sardonyx._src.quantize.weights.awq import scale_layers
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import WeightLayer, find_layers
from sardonyx._src.quantize.weights.microsoft import BLOCKS
from sardonyx._src.quantize.weights.rounding import WeightRounding, quantize_layers
from sardonyx._src.quantize.weights.slower_layers import slower_layers
from sardonyx._src.quantize.weights.table import ALGORITHMS
from sardonyx._src.rewrite.engine.edit import Edit

DEFAULT_ALGORITHM = "clipped"
LEAST_BLOCK, MOST_BLOCK, DEFAULT_BLOCK = 16, 1024, 32
OUTLIERS_ROUNDED = "outliers are rounded: they make it slower here"
FORMATS = ("qdq", "com.microsoft")


def quantize_int4(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Weights as integers of 4 bits."""
    return quantize_weights(model, data, settings, 4)


def quantize_int8(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Weights as integers of 8 bits."""
    return quantize_weights(model, data, settings, 8)


def quantize_weights(
    model: Model, data: CalibrationData, settings: SchemeSettings, bits: int
) -> SchemeResult:
    rounding = rounding_of(settings, bits)
    reasons: dict[tuple[str, ...], str] = {}
    if ALGORITHMS[rounding.algorithm].with_scales:
        model, reasons = scale_model(model, data, settings.patterns, rounding)
    result = model.copy()
    edit = Edit(result)
    layers, kept = choose_layers(edit, settings.patterns, rounding)
    roundings = dict.fromkeys(layers, rounding)
    if not settings.force:
        roundings, slow = fast_roundings(model, layers, data, rounding)
        kept += slow
    reports = quantize_layers(edit, model, roundings, data, settings.progress)
    notes = {layer.name: f"not scaled: {reasons[layer.key]}" for layer in layers if layer.key in reasons}
    notes |= {layer.name: OUTLIERS_ROUNDED for layer, how in roundings.items() if how is not rounding}
    reports = [replace(report, note=notes.get(report.layer, "")) for report in reports]
    return SchemeResult(result, reports, kept, rounding.title(settings.scheme))


def fast_roundings(
    model: Model, layers: Sequence[WeightLayer], data: CalibrationData, rounding: WeightRounding
) -> tuple[dict[WeightLayer, WeightRounding], list[KeptLayer]]:
    """The layers that are not slower on this machine, with outliers or without, and the others."""
    slow = dict(slower_layers(model, layers, data.runs[0], rounding))
    plain = replace(rounding, outliers=0.0)
    slower = dict(slower_layers(model, list(slow), data.runs[0], plain)) if rounding.outliers else slow
    roundings = {layer: plain if layer in slow else rounding for layer in layers if layer not in slower}
    return roundings, list(slower.values())


def scale_model(
    model: Model, data: CalibrationData, patterns: LayerPatterns, rounding: WeightRounding
) -> tuple[Model, dict[tuple[str, ...], str]]:
    """A copy of the model with scaled terms, which computes the same results; and why layers are not scaled, by key."""
    result = model.copy()
    edit = Edit(result)
    layers, _ = choose_layers(edit, patterns, rounding)
    return result, scale_layers(edit, model, layers, data, rounding.block, rounding.grid)


def rounding_of(settings: SchemeSettings, bits: int) -> WeightRounding:
    """The settings, checked, with their defaults."""
    algorithm = or_default(settings.algorithm, DEFAULT_ALGORITHM)
    block = or_default(settings.block, DEFAULT_BLOCK)
    symmetric = or_default(settings.symmetric, True)
    form = or_default(settings.format, FORMATS[0])
    require_choice("algorithm", algorithm, tuple(ALGORITHMS))
    require_integer("block", block, 0)
    require_flag("symmetric", symmetric)
    require_choice("format", form, FORMATS)
    if block and (not LEAST_BLOCK <= block <= MOST_BLOCK or block & (block - 1)):
        what = f"block must be 0, or a power of two from {LEAST_BLOCK} to {MOST_BLOCK}; got {block}"
        raise InputError(what, name="block")
    is_contrib = form == "com.microsoft"
    if is_contrib and block not in BLOCKS:
        blocks = ", ".join(map(str, BLOCKS))
        raise InputError(f"block must be one of {blocks} in the format {form}; got {block}", name="block")
    outliers = or_default(settings.outliers, 0.0)
    require_number("outliers", outliers)
    if not 0 <= outliers < 1:
        raise InputError(f"outliers must be a share of the terms below 1; got {outliers}", name="outliers")
    return WeightRounding(algorithm, block, IntegerGrid(bits, symmetric), is_contrib, outliers)


def choose_layers(
    edit: Edit, patterns: LayerPatterns, rounding: WeightRounding
) -> tuple[list[WeightLayer], list[KeptLayer]]:
    """The layers that can be quantized so, and the others, with the reason."""
    layers, kept = [], []
    for item in find_layers(edit, rounding.grid.bits):
        if isinstance(item, KeptLayer):
            kept.append(item)
        elif why := why_not(item, patterns, rounding):
            kept.append(KeptLayer(item.name, why))
        else:
            layers.append(item)
    return layers, kept


def why_not(layer: WeightLayer, patterns: LayerPatterns, rounding: WeightRounding) -> str:
    """Why a layer stays as it is; "" if it does not."""
    if layer.kind == "convolution" and not layer.is_per_channel and layer.terms < rounding.block_of(layer):
        return f"its {layer.terms} input channels are fewer than a block of {rounding.block}"
    return patterns.why_not([*(node.name for node in layer.readers), layer.weight.name])
