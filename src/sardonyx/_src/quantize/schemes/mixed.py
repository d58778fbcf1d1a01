"""Weights of 4 or 8 bits or as they are, layer by layer, to a bound on the size or the latency of the model, or on the error of its outputs."""

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
from sardonyx._src.quantize.weights.layer_times import Measure, measure_times
from sardonyx._src.quantize.weights.layers import WeightLayer, find_layers
from sardonyx._src.quantize.weights.rounding import WeightRounding, quantize_layers
from sardonyx._src.quantize.weights.slower_layers import slower_layers
from sardonyx._src.quantize.weights.table import ALGORITHMS
from sardonyx._src.rewrite.engine.edit import Edit

BITS = (8, 4)


def quantize_mixed(
    model: Model, data: CalibrationData, settings: SchemeSettings, measure: Measure = measure_times
) -> SchemeResult:
    """As few steps to fewer bits as the size or the latency permits, or as many as the accuracy permits.

    measure: the times of layers, of which the latency is predicted: that of the model, minus what each step saves.
    Raises InputError unless exactly one bound is given, and for one that all steps together do not reach.
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
    title = roundings[0].title(settings.scheme)
    if settings.latency is not None:
        times = measure(model, choices, data.runs[0])
        steps = find_steps(model, choices, data, settings.progress, times.cost)
        steps = steps_to_share(steps, times.model, settings.latency, "latency")
        left = times.model - sum(step.saved for step in steps)
        title += f", predicted latency {left / times.model:.0%}"
    else:
        steps = find_steps(model, choices, data, settings.progress)
    if settings.size is not None:
        steps = steps_to_share(steps, tensor_bytes(model), settings.size, "size")
    elif settings.signal_to_noise is not None:
        steps = steps_to_accuracy(model, data, steps, settings.signal_to_noise)
    result, reports = apply_steps(model, data, steps, settings.progress)
    chosen = {step.layer for step in steps}
    rest = [layer for layer, choice in choices.items() if choice and layer not in chosen]
    kept += [KeptLayer(layer.name, "the bound leaves it as it is") for layer in rest]
    return SchemeResult(result, reports, kept, title)


def check_bounds(settings: SchemeSettings) -> None:
    bounds = {name: getattr(settings, name) for name in ("size", "signal_to_noise", "latency")}
    for name, bound in bounds.items():
        require_number(name, bound, optional=True)
        if name != "signal_to_noise" and bound is not None and not 0 < bound <= 1:
            what = f"{name} must be above 0 and at most 1, a share of the original's; got {bound}"
            raise InputError(what, name=name)
    given = [name for name, bound in bounds.items() if bound is not None]
    if len(given) != 1:
        what = f"mixed requires one of {', '.join(bounds)}; got {' and '.join(given) or 'none'}"
        raise InputError(what, name="size")


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


def steps_to_share(steps: Sequence[BitStep], total: float, share: float, name: str) -> list[BitStep]:
    """The first steps after which a model of this many bytes or seconds needs at most this share of them.

    name: of the bound.
    """
    least = total - sum(step.saved for step in steps)
    if least > share * total:
        what = (
            f"{name} must be at least {least / total:.3f}, which fewest bits of all layers reach; got {share}"
        )
        raise InputError(what, name=name)
    chosen: list[BitStep] = []
    for step in steps:
        if total - sum(done.saved for done in chosen) <= share * total:
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
