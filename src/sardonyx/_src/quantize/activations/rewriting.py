"""Writes layers in QDQ form: QuantizeLinear and DequantizeLinear around the operands, with weights and biases as integers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.constants import (
    dequantize_constant,
    drop_unused,
    replace_input,
    stem_of,
)
from sardonyx._src.quantize.activations.layers import BIAS, WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.mean_shift import BiasCorrection
from sardonyx._src.quantize.activations.parameters import (
    ActivationParameters,
    Range,
    activation_parameters,
    integer_weight,
)
from sardonyx._src.quantize.activations.placement import ValueGroup, group_values, wanted_values
from sardonyx._src.quantize.activations.stored_weights import store_weight
from sardonyx._src.rewrite.engine.edit import Edit


@dataclass(frozen=True, slots=True)
class IntegerPlan:
    """What is quantized, and how.

    ranges: of activations, by name; they hold the sources of all groups.
    dtype: of activations, UINT8 or INT8.
    results_too: whether the results of layers are quantized, before elementwise operators that kernels could apply to sums.
    correction: of biases.
    floats: the keys of layers whose operands stay floats; their weights are stored in 8 bits.
    """

    ranges: Mapping[str, Range]
    dtype: DataType
    results_too: bool = False
    correction: BiasCorrection = field(default_factory=BiasCorrection)
    floats: Collection[str] = ()


def quantize_layers(model: Model, keys: Iterable[str], plan: IntegerPlan) -> Model:
    """A copy of a model whose layers with these keys are in QDQ form."""
    edit = Edit(model.copy())
    layers = layers_of_keys(edit, keys)
    in_floats = [layer for layer in layers if layer.key in plan.floats]
    in_integers = [layer for layer in layers if layer.key not in plan.floats]
    parameters = insert_pairs(edit, in_integers, plan, {layer.node for layer in in_floats})
    for layer in in_integers:
        write_constants(edit, layer, parameters[layer.operand], plan)
    for layer in in_floats:
        store_weight(edit, layer)
    return edit.model


def insert_pairs(
    edit: Edit, layers: list[ProductLayer], plan: IntegerPlan, exempt: Collection[Node]
) -> dict[Value, ActivationParameters]:
    """Quantizes activations, but for exempt readers; returns their parameters."""
    nodes = list(edit.model.graph.nodes)
    following: dict[Node | None, Node] = dict(zip([None, *nodes], nodes, strict=False))
    parameters: dict[Value, ActivationParameters] = {}
    for group in group_values(edit, wanted_values(edit, layers, results_too=plan.results_too)):
        shared = group_parameters(group, plan)
        constants: list[Value] = []
        for value in group.values:
            parameters[value] = shared
            readers = [
                (node, slot) for node, slot in value.uses if node not in exempt and reads_elements(edit, node)
            ]
            if value.producer in following and readers:
                insert_pair(edit, value, readers, shared, constants, following[value.producer])
    return parameters


def group_parameters(group: ValueGroup, plan: IntegerPlan) -> ActivationParameters:
    """The parameters of the range of all sources of a group."""
    span = plan.ranges[group.sources[0].name]
    for source in group.sources[1:]:
        span = span.union(plan.ranges[source.name])
    return activation_parameters(span, plan.dtype)


def insert_pair(
    edit: Edit,
    value: Value,
    readers: Iterable[tuple[Node, int]],
    shared: ActivationParameters,
    constants: list[Value],
    before: Node,
) -> None:
    """These readers of a value read a DequantizeLinear.

    constants: scale and zero point of the group, which are dequantized for its first value.
    """
    if not constants:
        constants += pair_constants(edit, value, shared, before)
    rounded = insert_nodes(edit, value, constants, before)
    for node, slot in readers:
        replace_input(edit, node, slot, rounded)


def pair_constants(edit: Edit, value: Value, shared: ActivationParameters, before: Node) -> list[Value]:
    """The scale and the zero point of a pair."""
    zero_point, stem = np.array(shared.zero_point, shared.dtype.numpy), stem_of(value)
    return [
        edit.make_constant(np.array(shared.scale), f"{stem}_scale", before=before),
        edit.make_constant(zero_point, f"{stem}_zero_point", before=before),
    ]


def insert_nodes(edit: Edit, value: Value, constants: list[Value], before: Node) -> Value:
    """A QuantizeLinear and a DequantizeLinear; returns what they make of a value."""
    stem = stem_of(value)
    name, names = f"{stem}/quantize", [f"{stem}_quantized"]
    node = edit.make("QuantizeLinear", [value, *constants], before=before, name=name, value_names=names)
    name, names = f"{stem}/dequantize", [f"{stem}_dequantized"]
    inputs = [node.outputs[0], *constants]
    node = edit.make("DequantizeLinear", inputs, before=before, name=name, value_names=names)
    return node.outputs[0]


def insert_rounding(edit: Edit, value: Value, shared: ActivationParameters, before: Node) -> Value:
    """What the integers of a value stand for; its readers keep the floats."""
    return insert_nodes(edit, value, pair_constants(edit, value, shared, before), before)


def reads_elements(edit: Edit, node: Node) -> bool:
    operator = edit.operator_of(node)
    return node.graph is edit.model.graph and not (operator is not None and operator.op.reads_shape)


def write_constants(
    edit: Edit, layer: ProductLayer, operand: ActivationParameters, plan: IntegerPlan
) -> None:
    """The layer reads its weight and its bias from DequantizeLinear nodes of integers."""
    node, numbers = layer.node, layer.tensor.numpy()
    bias = None if layer.bias is None else layer.bias.numpy()
    written = integer_weight(numbers, layer.axis, bias, operand)
    if bias is not None:
        shift = plan.correction.shift(layer, written.dequantized(layer.axis) - numbers)
        written = integer_weight(numbers, layer.axis, bias - shift, operand)
    dequantize_constant(edit, node, WEIGHT, (written.integers, written.scales), layer.axis, layer.weight)
    if written.bias is not None:
        value = node.inputs[BIAS]
        assert value is not None, "the layer has a bias"
        dequantize_constant(edit, node, BIAS, (written.bias, written.bias_scales(operand)), 0, value)
        drop_unused(edit, value)
    drop_unused(edit, layer.weight)
