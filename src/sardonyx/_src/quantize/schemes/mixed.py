"""Weights of 4 or 8 bits or as they are, layer by layer, to a bound on the size of the model or on the error of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sardonyx._src.arguments import require_number
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.report.quality import output_errors
from sardonyx._src.quantize.report.report import KeptLayer, LayerReport
from sardonyx._src.quantize.schemes.scheme import SchemeResult, SchemeSettings
from sardonyx._src.quantize.schemes.weights import choose_layers, rounding_of, scale_model
from sardonyx._src.quantize.sessions import tensor_bytes
from sardonyx._src.quantize.weights.bit_choice import BitStep, find_steps
from sardonyx._src.quantize.weights.layers import WeightLayer, find_layers
from sardonyx._src.quantize.weights.rounding import WeightRounding, quantize_layers
from sardonyx._src.quantize.weights.slower_layers import slower_layers
from sardonyx._src.quantize.weights.table import ALGORITHMS
from sardonyx._src.rewrite.engine.edit import Edit

BITS = (8, 4)


def quantize_mixed(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """As few steps to fewer bits as the size permits, or as many as the accuracy permits.

    Raises InputError unless exactly one bound is given, and for a size that all steps together do not reach.
    """
    check_bounds(settings)
    roundings = [rounding_of(settings, bits) for bits in BITS]
    if ALGORITHMS[roundings[-1].algorithm].with_scales:
        model, _ = scale_model(model, data, settings.patterns, roundings[-1])
    edit = Edit(model.copy())
    layers, kept = choose_layers(edit, settings.patterns, roundings[0])
    choices = {layer: choices_of(layer, roundings) for layer in layers}
    if not settings.force:
        kept += drop_slower(model, data, roundings, choices)
    steps = find_steps(model, choices, data, settings.progress)
    if settings.size is not None:
        steps = steps_to_size(steps, tensor_bytes(model), settings.size)
    elif settings.signal_to_noise is not None:
        steps = steps_to_accuracy(model, data, steps, settings.signal_to_noise)
    result, reports = apply_steps(model, data, steps, settings.progress)
    chosen = {step.layer for step in steps}
    rest = [layer for layer, choice in choices.items() if choice and layer not in chosen]
    kept += [KeptLayer(layer.name, "the bound leaves it as it is") for layer in rest]
    return SchemeResult(result, reports, kept, roundings[0].title(settings.scheme))


def check_bounds(settings: SchemeSettings) -> None:
    size, ratio = settings.size, settings.signal_to_noise
    require_number("size", size, optional=True)
    require_number("signal_to_noise", ratio, optional=True)
    if (size is None) == (ratio is None):
        what = f"mixed requires size or signal_to_noise, and not both; got {size} and {ratio}"
        raise InputError(what, name="size")
    if size is not None and not 0 < size <= 1:
        raise InputError(
            f"size must be above 0 and at most 1, a share of the original's; got {size}", name="size"
        )


def choices_of(layer: WeightLayer, roundings: Sequence[WeightRounding]) -> list[WeightRounding]:
    """Channels of convolutions have 8 bits only."""
    return [rounding for rounding in roundings if rounding.grid.bits == 8 or not layer.is_per_channel]


def drop_slower(
    model: Model,
    data: CalibrationData,
    roundings: Sequence[WeightRounding],
    choices: Mapping[WeightLayer, list[WeightRounding]],
) -> list[KeptLayer]:
    """Removes the choices that are slower on this machine; returns the layers without any that is left."""
    kept = []
    for rounding in roundings:
        layers = [layer for layer, choice in choices.items() if rounding in choice]
        for layer, reason in slower_layers(model, layers, data.runs[0], rounding):
            choices[layer].remove(rounding)
            kept += [] if choices[layer] else [reason]
    return kept


def steps_to_size(steps: Sequence[BitStep], size: int, share: float) -> list[BitStep]:
    """The first steps after which a model of `size` bytes has at most this share of them."""
    least = size - sum(step.saved for step in steps)
    if least > share * size:
        what = f"size must be at least {least / size:.3f}, which fewest bits of all layers reach; got {share}"
        raise InputError(what, name="size")
    chosen: list[BitStep] = []
    for step in steps:
        if size - sum(done.saved for done in chosen) <= share * size:
            break
        chosen.append(step)
    return chosen


def steps_to_accuracy(
    model: Model, data: CalibrationData, steps: Sequence[BitStep], ratio: float
) -> list[BitStep]:
    """As many of the first steps as leave all outputs at least this ratio of signal to noise, measured, by bisection."""
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high + 1) // 2
        tried, _ = apply_steps(model, data, steps[:middle], lambda done, total: None)
        if all(output.signal_to_noise >= ratio for output in output_errors(model, tried, data)):
            low = middle
        else:
            high = middle - 1
    return list(steps[:low])


def apply_steps(
    model: Model, data: CalibrationData, steps: Sequence[BitStep], progress: Callable[[int, int], None]
) -> tuple[Model, list[LayerReport]]:
    """A copy of the model with the layers of these steps quantized, in the order of the graphs."""
    result = model.copy()
    edit = Edit(result)
    chosen = {
        step.layer.key: step.rounding for step in steps
    }  # a later step of a layer replaces an earlier one
    layers = [item for item in find_layers(edit, BITS[0]) if isinstance(item, WeightLayer)]
    roundings = {layer: chosen[layer.key] for layer in layers if layer.key in chosen}
    return result, quantize_layers(edit, model, roundings, data, progress)
