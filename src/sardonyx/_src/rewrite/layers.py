"""Convolutions, matrix products and normalisations with constant weights, whose results are scaled and shifted channel
by channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.io.pages import let_go
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.rewrite.edit import Edit

OPERATORS = ("Conv", "ConvTranspose", "Gemm", "BatchNormalization")


@dataclass(frozen=True, slots=True)
class Layer:
    """A node y = weight * x + bias, of whatever product, and the axis of the weight for the channels, axis 1 of y."""

    node: Node
    weight: Tensor
    bias: Tensor | None
    axis: int
    groups: int  # of a ConvTranspose: how often its axis is to be repeated for all channels

    @property
    def channels(self) -> int:
        return self.weight.shape[self.axis] * self.groups


def layer_making(value: Value | None, edit: Edit) -> Layer | None:
    """The layer that makes a value which nobody else reads; None where weight or bias are not constant."""
    node = None if value is None else value.producer
    if node is None or value is None or not edit.is_read_once(value):
        return None
    if node.op_type not in OPERATORS or not edit.is_a(node, node.op_type) or len(node.inputs) < 2:
        return None
    given = node.inputs[2] if len(node.inputs) > 2 else None
    weight, bias = edit.tensor(node.inputs[1]), edit.tensor(given)
    if weight is None or (given is not None and bias is None) or not is_float(weight):
        return None
    attributes = edit.attributes(node)
    if node.op_type == "BatchNormalization" and not is_inference(node, edit):
        return None
    if node.op_type == "Gemm":
        return gemm(node, weight, bias, attributes)
    if node.op_type == "ConvTranspose":
        group = attributes["group"]
        assert isinstance(group, int), "group is an integer"
        return Layer(node, weight, bias, 1, group)
    return Layer(node, weight, bias, 0, 1)


def is_inference(node: Node, edit: Edit) -> bool:
    """Whether a BatchNormalization goes by the statistics that it is given, channel by channel."""
    attributes = edit.attributes(node)
    named = sum(1 for v in node.outputs if v.name)
    return named == 1 and attributes.get("training_mode", 0) == 0 and attributes.get("spatial", 1) == 1


def gemm(node: Node, weight: Tensor, bias: Tensor | None, attributes: dict[str, object]) -> Layer | None:
    if attributes["alpha"] != 1 or (bias is not None and attributes["beta"] != 1):
        return None
    axis = 0 if attributes["transB"] else 1
    if bias is not None and bias.shape not in ((weight.shape[axis],), (1, weight.shape[axis])):
        return None
    return Layer(node, weight, bias, axis, 1)


def is_float(tensor: Tensor) -> bool:
    return tensor.dtype.numpy in (np.dtype("f2"), np.dtype("f4"), np.dtype("f8"))


def scale_and_shift(layer: Layer, factor: Array | None, shift: Array | None, edit: Edit) -> None:
    """Makes a layer compute factor * y + shift; both are [channels], None for no change."""
    node, dtype = layer.node, layer.weight.dtype.numpy
    inputs = list(node.inputs)
    name = node.name or node.outputs[0].name
    if factor is not None:
        scaled = weight_times(layer, factor)
        inputs[1] = edit.constant_of(scaled, f"{name}/weight", before=node)
    bias = np.zeros(layer.channels) if layer.bias is None else layer.bias.numpy().astype(np.float64)
    bias = bias.reshape(-1) * (1 if factor is None else factor) + (0 if shift is None else shift)
    if layer.bias is not None or shift is not None:
        made = edit.constant_of(bias.astype(dtype), f"{name}/bias", before=node)
        inputs[2:3] = [made]
    if node.op_type == "Gemm" and edit.attributes(node)["beta"] != 1:  # which meant nothing without a bias
        edit.update(node, inputs=inputs, beta=1.0)
    else:
        edit.update(node, inputs=inputs)


def weight_times(layer: Layer, factor: Array) -> Array:
    """The weight with every output channel multiplied, in double precision and rounded once."""
    weight = layer.weight.numpy()
    if layer.groups > 1:  # [C, M / group, ...]: the first axis tells the group
        whole = weight.reshape(layer.groups, -1, *weight.shape[1:])
        factors = factor.reshape(layer.groups, 1, -1, *[1] * (weight.ndim - 2))
    else:
        shape = [1] * weight.ndim
        shape[layer.axis] = -1
        whole, factors = weight, factor.reshape(shape)
    result = np.empty(whole.shape, weight.dtype)
    np.multiply(whole, factors, out=result, dtype=np.float64, casting="same_kind")
    let_go(weight)
    return result.reshape(weight.shape)
