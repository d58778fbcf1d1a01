"""Writes layers in QDQ form: QuantizeLinear and DequantizeLinear around the operands, with weights and biases as integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Node, Tensor, Value
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.layers import BIAS, WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.mean_shift import mean_shift
from sardonyx._src.quantize.activations.parameters import (
    ActivationParameters,
    Range,
    activation_parameters,
    integer_weight,
)
from sardonyx._src.quantize.activations.placement import group_values, wanted_values
from sardonyx._src.rewrite.engine.edit import Edit


@dataclass(frozen=True, slots=True)
class IntegerPlan:
    """What is quantized, and how.

    ranges: of activations, by name; they hold the sources of all groups.
    dtype: of activations, UINT8 or INT8.
    results_too: whether the results of layers are quantized, before elementwise operators that kernels could apply to sums.
    means: of the channels of operands, by name, for the correction of biases; none without it.
    """

    ranges: Mapping[str, Range]
    dtype: DataType
    results_too: bool = False
    means: Mapping[str, Array] = field(default_factory=dict)


def quantize_layers(model: Model, keys: Iterable[str], plan: IntegerPlan) -> Model:
    """A copy of a model whose layers with these keys are in QDQ form."""
    edit = Edit(model.copy())
    layers = layers_of_keys(edit, keys)
    parameters = insert_pairs(edit, layers, plan)
    for layer in layers:
        write_constants(edit, layer, parameters[layer.operand], plan.means.get(layer.operand.name))
    return edit.model


def insert_pairs(
    edit: Edit, layers: list[ProductLayer], plan: IntegerPlan
) -> dict[Value, ActivationParameters]:
    """Quantizes activations; returns their parameters."""
    nodes = list(edit.model.graph.nodes)
    following: dict[Node | None, Node] = dict(zip([None, *nodes], nodes, strict=False))
    parameters: dict[Value, ActivationParameters] = {}
    for group in group_values(edit, wanted_values(edit, layers, results_too=plan.results_too)):
        span = plan.ranges[group.sources[0].name]
        for source in group.sources[1:]:
            span = span.union(plan.ranges[source.name])
        shared = activation_parameters(span, plan.dtype)
        constants: list[Value] = []
        for value in group.values:
            parameters[value] = shared
            if value.producer in following:
                insert_pair(edit, value, shared, constants, following[value.producer])
    return parameters


def insert_pair(
    edit: Edit, value: Value, shared: ActivationParameters, constants: list[Value], before: Node
) -> None:
    """The readers of a value in the main graph, but for those of its shape, read a DequantizeLinear.

    constants: scale and zero point of the group, which are dequantized for its first value.
    """
    readers = [(node, slot) for node, slot in value.uses if reads_elements(edit, node)]
    if not readers:
        return
    if not constants:
        constants.append(edit.make_constant(np.array(shared.scale), f"{value.name}_scale", before=before))
        zero_point = np.array(shared.zero_point, shared.dtype.numpy)
        constants.append(edit.make_constant(zero_point, f"{value.name}_zero_point", before=before))
    names = [f"{value.name}_quantized"], [f"{value.name}_dequantized"]
    quantized = edit.make("QuantizeLinear", [value, *constants], before=before, value_names=names[0])
    dequantized = edit.make(
        "DequantizeLinear", [quantized.outputs[0], *constants], before=before, value_names=names[1]
    )
    for node, slot in readers:
        replace_input(edit, node, slot, dequantized.outputs[0])


def reads_elements(edit: Edit, node: Node) -> bool:
    operator = edit.operator_of(node)
    return node.graph is edit.model.graph and not (operator is not None and operator.op.reads_shape)


def replace_input(edit: Edit, node: Node, slot: int, value: Value) -> None:
    inputs = list(node.inputs)
    inputs[slot] = value
    edit.update(node, inputs=inputs)


def write_constants(
    edit: Edit, layer: ProductLayer, operand: ActivationParameters, means: Array | None
) -> None:
    """The layer reads its weight and its bias from DequantizeLinear nodes of integers.

    means: of the channels of the operand, if the bias is corrected.
    """
    node, numbers = layer.node, layer.tensor.numpy()
    bias = None if layer.bias is None else layer.bias.numpy()
    written = integer_weight(numbers, layer.axis, bias, operand)
    if bias is not None and means is not None:
        errors = written.dequantized(layer.axis) - numbers
        written = integer_weight(numbers, layer.axis, bias - mean_shift(layer, errors, means), operand)
    dequantize_constant(edit, node, WEIGHT, (written.integers, written.scales), layer.axis, layer.weight.name)
    if written.bias is not None:
        value = node.inputs[BIAS]
        assert value is not None, "the layer has a bias"
        dequantize_constant(edit, node, BIAS, (written.bias, written.bias_scales(operand)), 0, value.name)
        drop_unused(edit, value)
    drop_unused(edit, layer.weight)


def dequantize_constant(
    edit: Edit, node: Node, slot: int, tensors: tuple[Array, Array], axis: int, stem: str
) -> None:
    """An input of a node becomes integers times scales along an axis."""
    integers, scales = tensors
    inputs: list[Value | None] = [
        edit.make_constant(Tensor.of(integers), f"{stem}_quantized", before=node),
        edit.make_constant(scales, f"{stem}_scale", before=node),
        edit.make_constant(np.zeros(scales.shape, integers.dtype), f"{stem}_zero_point", before=node),
    ]
    dequantized = edit.make(
        "DequantizeLinear", inputs, {"axis": axis}, before=node, value_names=[f"{stem}_dequantized"]
    )
    replace_input(edit, node, slot, dequantized.outputs[0])


def drop_unused(edit: Edit, value: Value) -> None:
    if (
        value.producer is None
        and not value.uses
        and value.initializer is not None
        and edit.is_internal(value)
    ):
        edit.remove_initializer(value)
