"""Writes layers with the ranges of each run: DynamicQuantizeLinear, an integer product, and scales and a bias after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Node, Value
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.constants import drop_unused, stem_of
from sardonyx._src.quantize.activations.layers import BIAS, ProductLayer
from sardonyx._src.quantize.activations.mean_shift import BiasCorrection
from sardonyx._src.quantize.activations.parameters import along, weight_integers
from sardonyx._src.quantize.activations.stored_weights import store_weight
from sardonyx._src.rewrite.engine.edit import Edit


def quantize_layers(
    model: Model,
    keys: Iterable[str],
    floats: Collection[str] = (),
    correction: BiasCorrection | None = None,
) -> Model:
    """A copy of a model whose layers with these keys compute in integers.

    floats: the keys of layers whose operands stay floats; their weights are stored in 8 bits.
    correction: of biases; none by default.
    """
    edit = Edit(model.copy())
    operands: dict[Value, tuple[Value, ...]] = {}
    for layer in layers_of_keys(edit, keys):
        if layer.key in floats:
            store_weight(edit, layer)
            continue
        if layer.operand not in operands:
            operands[layer.operand] = quantize_operand(edit, layer.operand, layer.node)
        write_layer(edit, layer, operands[layer.operand], correction or BiasCorrection())
    return edit.model


def quantize_operand(edit: Edit, operand: Value, before: Node) -> tuple[Value, ...]:
    """The integers of an operand, their scale and their zero point; layers that read the same operand share them."""
    stem = stem_of(operand)
    names = [f"{stem}_quantized", f"{stem}_scale", f"{stem}_zero_point"]
    name = f"{stem}/quantize"
    node = edit.make(
        "DynamicQuantizeLinear", [operand], before=before, name=name, outputs=3, value_names=names
    )
    return node.outputs


def round_operand(edit: Edit, operand: Value, before: Node) -> Value:
    """What the integers of an operand stand for."""
    integers = list(quantize_operand(edit, operand, before))
    return edit.make("DequantizeLinear", integers, before=before).outputs[0]


def write_layer(
    edit: Edit, layer: ProductLayer, operand: tuple[Value, ...], correction: BiasCorrection
) -> None:
    """(sums of integers) * (scale of the operand * scales of the weight) + bias replaces a layer."""
    node, name = layer.node, stem_of(layer.weight)
    integers, scales = weight_integers(layer.tensor.numpy(), layer.axis)
    sums = write_sums(edit, layer, operand, integers)
    rank = edit.rank(node.outputs[0]) or len(layer.tensor.shape)
    axis = 1 if layer.is_convolution else rank - 1
    column = edit.make_constant(along(scales, rank, axis), f"{name}_scale", before=node)
    floats = edit.make("Cast", [sums], {"to": DataType.FLOAT.value}, before=node).outputs[0]
    factors = edit.make("Mul", [operand[1], column], before=node).outputs[0]
    bias = node.inputs[BIAS] if len(node.inputs) > BIAS else None
    product = edit.make("Mul", [floats, factors], before=node)
    if bias is None:
        edit.replace_node(product, node)
    else:
        shift = correction.shift(layer, weight_errors(layer, integers, scales))
        column = broadcast_bias(edit, layer, bias, shift, rank, axis)
        edit.replace_node(edit.make("Add", [product.outputs[0], column], before=node), node)
    for value in (layer.weight, *(() if bias is None else (bias,))):
        drop_unused(edit, value)


def write_sums(edit: Edit, layer: ProductLayer, operand: tuple[Value, ...], integers: Array) -> Value:
    """The int32 sums of products."""
    node, name = layer.node, f"{stem_of(layer.weight)}_quantized"
    if layer.is_convolution:
        weight = edit.make_constant(integers, name, before=node)
        attributes = {key: attribute.value for key, attribute in node.attributes.items()}
        inputs = [operand[0], weight, operand[2]]
        return edit.make("ConvInteger", inputs, attributes, before=node).outputs[0]
    matrix = np.ascontiguousarray(integers.T) if layer.axis == 0 else integers
    weight = edit.make_constant(matrix, name, before=node)
    return edit.make("MatMulInteger", [operand[0], weight, operand[2]], before=node).outputs[0]


def weight_errors(layer: ProductLayer, integers: Array, scales: Array) -> Array:
    """What rounding has added to the weight."""
    rounded = integers.astype(np.float32) * along(scales, integers.ndim, layer.axis)
    return np.asarray(rounded - layer.tensor.numpy())


def broadcast_bias(edit: Edit, layer: ProductLayer, bias: Value, shift: Array, rank: int, axis: int) -> Value:
    """The bias of a layer minus a shift, with the dims of its result; what is no bias of channels broadcasts as it is."""
    if layer.bias is None:
        return bias
    return edit.make_constant(along(layer.bias.numpy() - shift, rank, axis), bias.name, before=layer.node)
