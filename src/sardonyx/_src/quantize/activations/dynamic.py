"""Writes layers with the ranges of each run: DynamicQuantizeLinear, an integer product, and scales and a bias after it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Value
from sardonyx._src.quantize.activations.choice import layers_of_keys
from sardonyx._src.quantize.activations.layers import BIAS, ProductLayer
from sardonyx._src.quantize.activations.parameters import along, weight_integers
from sardonyx._src.quantize.activations.rewriting import drop_unused
from sardonyx._src.rewrite.engine.edit import Edit


def quantize_layers(model: Model, keys: Iterable[str]) -> Model:
    """A copy of a model whose layers with these keys compute in integers."""
    edit = Edit(model.copy())
    operands: dict[Value, tuple[Value, ...]] = {}
    for layer in layers_of_keys(edit, keys):
        if layer.operand not in operands:
            operands[layer.operand] = quantize_operand(edit, layer)
        write_layer(edit, layer, operands[layer.operand])
    return edit.model


def quantize_operand(edit: Edit, layer: ProductLayer) -> tuple[Value, ...]:
    """The integers of an operand, their scale and their zero point; layers that read the same operand share them."""
    name = layer.operand.name
    names = [f"{name}_quantized", f"{name}_scale", f"{name}_zero_point"]
    node = edit.make(
        "DynamicQuantizeLinear", [layer.operand], before=layer.node, outputs=3, value_names=names
    )
    return node.outputs


def write_layer(edit: Edit, layer: ProductLayer, operand: tuple[Value, ...]) -> None:
    """(sums of integers) * (scale of the operand * scales of the weight) + bias replaces a layer."""
    node, name = layer.node, layer.weight.name
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
        column = broadcast_bias(edit, layer, bias, rank, axis)
        edit.replace_node(edit.make("Add", [product.outputs[0], column], before=node), node)
    for value in (layer.weight, *(() if bias is None else (bias,))):
        drop_unused(edit, value)


def write_sums(edit: Edit, layer: ProductLayer, operand: tuple[Value, ...], integers: Array) -> Value:
    """The int32 sums of products."""
    node, name = layer.node, f"{layer.weight.name}_quantized"
    if layer.is_convolution:
        weight = edit.make_constant(integers, name, before=node)
        attributes = {key: attribute.value for key, attribute in node.attributes.items()}
        inputs = [operand[0], weight, operand[2]]
        return edit.make("ConvInteger", inputs, attributes, before=node).outputs[0]
    matrix = np.ascontiguousarray(integers.T) if layer.axis == 0 else integers
    weight = edit.make_constant(matrix, name, before=node)
    return edit.make("MatMulInteger", [operand[0], weight, operand[2]], before=node).outputs[0]


def broadcast_bias(edit: Edit, layer: ProductLayer, bias: Value, rank: int, axis: int) -> Value:
    """The bias of a layer with the dims of its result; that of a product broadcasts as it is."""
    if not layer.is_convolution or layer.bias is None:
        return bias
    return edit.make_constant(along(layer.bias.numpy(), rank, axis), bias.name, before=layer.node)
