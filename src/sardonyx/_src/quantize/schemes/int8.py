"""Static int8: layers whose operands, weights and biases are integers, in QDQ form or as single operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.accuracy.loop import AccurateLayers, meet_bound
from sardonyx._src.quantize.accuracy.metrics import loss_of, outputs_of
from sardonyx._src.quantize.accuracy.record import LossRecord, subject_of
from sardonyx._src.quantize.activations.choice import choose_layers, layers_of_keys
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.quantize.activations.mean_shift import BiasCorrection
from sardonyx._src.quantize.activations.observation import observe_ranges
from sardonyx._src.quantize.activations.parameters import Range, activation_parameters
from sardonyx._src.quantize.activations.placement import group_values, wanted_values
from sardonyx._src.quantize.activations.qoperator import to_operator_form
from sardonyx._src.quantize.activations.quality import layer_reports
from sardonyx._src.quantize.activations.rewriting import (
    IntegerPlan,
    group_parameters,
    insert_rounding,
    quantize_layers,
)
from sardonyx._src.quantize.activations.sensitivity import RoundOperand, sensitive_layers
from sardonyx._src.quantize.activations.slower_layers import slower_layers, slower_model
from sardonyx._src.quantize.activations.stored_weights import store_other_weights
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.equalization.bias_correction import channel_means, result_shifts
from sardonyx._src.quantize.equalization.cross_layer import equalize_cross_layer
from sardonyx._src.quantize.equalization.smooth_quant import smooth_activations
from sardonyx._src.quantize.ranges.table import RANGES
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.schemes.int8_options import StaticOptions
from sardonyx._src.quantize.schemes.scheme import SHARING, SchemeResult, SchemeSettings
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.view import View
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.tools.extract import extract


@dataclass(frozen=True, slots=True)
class StaticModel:
    """A model that is ready to be quantized: optimized, equalized, observed.

    keys: of the layers that may be quantized.
    """

    model: Model
    keys: Sequence[str]
    plan: IntegerPlan
    options: StaticOptions

    def layers(self) -> list[ProductLayer]:
        return layers_of_keys(View(self.model), self.keys)

    def quantize(self, keys: Sequence[str]) -> Model:
        """A copy whose layers of these keys are in QDQ form."""
        return quantize_layers(self.model, keys, self.plan)

    def round_operand(self) -> RoundOperand:
        """Rounds operands as the layers that read them do."""
        view = View(self.model)
        groups = group_values(view, wanted_values(view, self.layers(), results_too=self.options.results_too))
        parameters = {
            value.name: group_parameters(group, self.plan) for group in groups for value in group.values
        }
        return lambda edit, value, before: insert_rounding(edit, value, parameters[value.name], before)

    def corrected(self, data: CalibrationData) -> StaticModel:
        """With the mean errors of the last layers' results, which are measured."""
        shifts = result_shifts(self.model, self.quantize(self.keys), self.layers(), data)
        correction = replace(self.plan.correction, shifts=shifts)
        return replace(self, plan=replace(self.plan, correction=correction))

    def written(self, quantized: Model) -> Model:
        """A quantized copy in the form that was asked for."""
        return to_operator_form(quantized) if self.options.is_operator_form else quantized


def quantize_static(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Layers of Conv, Gemm and MatMul in integers, with ranges of the calibration data."""
    options = StaticOptions.of(settings, is_random=data.is_random)
    optimized = optimize(model)
    chosen, kept = choose_layers(View(optimized), settings.patterns)
    subject = observe(
        equalize(optimized, [layer.key for layer in chosen], data, options), chosen, data, options
    )
    if not settings.force:
        form = partial(bytes_form, subject.plan)
        slow = dict(slower_layers(subject.model, subject.layers(), data.runs[0], form))
        subject = replace(subject, keys=[key for key in subject.keys if key not in {s.key for s in slow}])
        kept += slow.values()
    sensitive = sensitive_layers(subject.model, subject.layers(), data, settings, subject.round_operand())
    kept += sensitive.kept(subject.layers())
    keys: Sequence[str] = [key for key in subject.keys if key not in sensitive.weights]
    subject = replace(subject, keys=keys, plan=replace(subject.plan, floats=tuple(sensitive.operands)))
    if options.accuracy is not None:
        accurate = find_accurate_layers(optimized, subject, data, settings)
        names = {layer.key: layer.name for layer in chosen}
        keys, kept = (
            accurate.quantized,
            [*kept, *(returned(names[key], loss) for key, loss in accurate.returned)],
        )
    elif options.bias_correction:
        subject = subject.corrected(data)
    quantized = subject.quantize(keys)
    result = subject.written(quantized)
    # The bound on the loss counts layers that return to floats: other weights would add to it.
    stored = store_other_weights(Edit(result), settings.patterns) if options.accuracy is None else []
    result = optimize(result, passes=SHARING)
    layers = layers_of_keys(View(subject.model), keys)
    if not settings.force and layers and (slower := slower_model(optimized, result, data.runs[0])):
        return SchemeResult(
            model, [], [*kept, *(KeptLayer(layer.name, slower) for layer in layers)], options.title
        )
    reports = layer_reports(subject.model, quantized, layers, data, sensitive.operands)
    return SchemeResult(result, [*reports, *stored], kept, options.title)


def equalize(model: Model, keys: list[str], data: CalibrationData, options: StaticOptions) -> Model:
    if options.equalize == "smooth":
        return smooth_activations(model, keys, data)
    return equalize_cross_layer(model, keys) if options.equalize == "cross-layer" else model


def observe(
    model: Model, chosen: Sequence[ProductLayer], data: CalibrationData, options: StaticOptions
) -> StaticModel:
    """The ranges of all values that are quantized, whichever of the layers are."""
    view, keys = View(model), [layer.key for layer in chosen]
    layers = layers_of_keys(view, keys)
    groups = group_values(view, wanted_values(view, layers, results_too=options.results_too))
    sources = list(dict.fromkeys(value.name for group in groups for value in group.sources))
    ranges = observe_ranges(model, sources, data, RANGES[options.ranges])
    correction = BiasCorrection(channel_means(model, layers, data) if options.bias_correction else {})
    plan = IntegerPlan(ranges, options.dtype, options.results_too, correction)
    return StaticModel(model, keys, plan, options)


def find_accurate_layers(
    original: Model, subject: StaticModel, data: CalibrationData, settings: SchemeSettings
) -> AccurateLayers:
    options = subject.options
    assert options.accuracy is not None, "there is a bound"
    loss = loss_of(options.metric, outputs_of(original, data))
    words = [options.title, repr(options), *subject.keys]
    weights = [layer.tensor.numpy() for layer in subject.layers()]
    record = LossRecord(options.resume, subject_of(words, weights, data.runs))
    return meet_bound(
        subject.keys,
        lambda keys: loss(outputs_of(subject.quantize(keys), data)),
        options.accuracy,
        record,
        settings.progress,
    )


def returned(name: str, loss: float) -> KeptLayer:
    return KeptLayer(name, f"the accuracy needs it: a loss of {loss:.3g} by it alone")


def bytes_form(
    plan: IntegerPlan, alone: Model, layer: ProductLayer, operand: Array
) -> tuple[Model, Mapping[str, RuntimeValue]]:
    """A layer whose operand is already quantized, as after another layer."""
    span = Range(float(operand.min(initial=0)), float(operand.max(initial=0)))
    name = layer.operand.name
    quantized = quantize_layers(alone, [layer.key], IntegerPlan({name: span}, plan.dtype))
    (pair,) = (node for node in quantized.graph.nodes if node.inputs[0] is quantized.graph.value(name))
    integers = pair.outputs[0].name
    parameters = activation_parameters(span, plan.dtype)
    return extract(quantized, inputs=[integers], outputs=[layer.key]), {
        integers: parameters.quantize(operand)
    }
