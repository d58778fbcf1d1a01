"""Other element types of floats: half precision in the place of float32, and the reverse."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sardonyx._src.arguments import require_flag, require_number
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.ir import Model, Node
from sardonyx._src.ir.walk import nodes
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.precision.change import ChangedModel, TypeRules, change_types
from sardonyx._src.quantize.precision.element_types import Change
from sardonyx._src.quantize.precision.ranges import largest_magnitudes
from sardonyx._src.quantize.precision.repair import RepairedModel, repair
from sardonyx._src.quantize.precision.value_errors import ValueErrors, value_errors
from sardonyx._src.quantize.preparation import in_ir_version
from sardonyx._src.quantize.report.report import KeptLayer, LayerReport
from sardonyx._src.quantize.schemes.scheme import SchemeResult, SchemeSettings, or_default
from sardonyx._src.tools.inline import inline

HALF_TYPES = (DataType.FLOAT16, DataType.BFLOAT16)
# Least signal-to-noise ratios of outputs.  One rounding of float16 is some 74 dB below the signal, one of bfloat16 56 dB.
BOUNDS: Mapping[DataType, float] = {DataType.FLOAT16: 40.0, DataType.BFLOAT16: 25.0}


def quantize_float16(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Weights and arithmetic in float16."""
    return narrow(resolve(model), data, settings, DataType.FLOAT16)


def quantize_bfloat16(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """Weights and arithmetic in bfloat16."""
    return narrow(
        in_ir_version(resolve(model), DataType.BFLOAT16.ir_version), data, settings, DataType.BFLOAT16
    )


def quantize_float32(model: Model, data: CalibrationData, settings: SchemeSettings) -> SchemeResult:
    """The reverse: half precision becomes float32."""
    model = resolve(model)
    rules = TypeRules(Change(HALF_TYPES, DataType.FLOAT), settings.patterns, keeps_types(settings), {})
    changed = change_types(model, rules, {})
    errors = value_errors(model, changed.model, data)
    return result_of(model, RepairedModel(changed, errors, ()), settings.scheme)


def narrow(model: Model, data: CalibrationData, settings: SchemeSettings, target: DataType) -> SchemeResult:
    """Half precision in the place of float32, where numbers fit and the outputs stay within the bound."""
    bound = or_default(settings.bound, BOUNDS[target])
    require_number("bound", bound)
    change, keep_types = Change((DataType.FLOAT,), target), keeps_types(settings)
    rules = TypeRules(change, settings.patterns, keep_types, largest_magnitudes(model, data))

    def changed_with(forced: Mapping[int, str]) -> ChangedModel:
        return change_types(model, rules, forced)

    repaired = repair(model, data, bound, changed_with, settings.progress)
    return result_of(model, repaired, f"{settings.scheme}, outputs of at least {bound:g} dB")


def keeps_types(settings: SchemeSettings) -> bool:
    keep_types = or_default(settings.keep_types, True)
    require_flag("keep_types", keep_types)
    return keep_types


def resolve(model: Model) -> Model:
    """The model without Gradient nodes, and with its functions inlined where that is possible: then types are known."""
    model = without_gradient_nodes(model)
    labels = [function.label for function in model.functions.values()]
    try:
        return inline(model, labels) if labels else model
    except InvalidModel:  # a body has operators of another version than the model: calls keep their types
        return model


def result_of(model: Model, repaired: RepairedModel, title: str) -> SchemeResult:
    changed = repaired.changed
    ordered = list(nodes(model.graph))
    layers = [layer_report(ordered[position], repaired.errors) for position in changed.changed]
    misses = [KeptLayer(name, "this output is not within the bound") for name in repaired.misses]
    return SchemeResult(changed.model, layers, [*misses, *changed.kept], title)


def layer_report(node: Node, errors: ValueErrors) -> LayerReport:
    """The report of a node that computes in the new type, with its largest constant operand."""
    weights = [
        value.initializer for value in node.inputs if value is not None and value.initializer is not None
    ]
    shape = max((weight.shape for weight in weights), key=math.prod, default=())
    name = node.name or next((value.name for value in node.outputs if value.name), "")
    ratios = [errors.values[value.name] for value in node.outputs if value.name in errors.values]
    return LayerReport(name, shape, ratios[0] if ratios else math.nan)
