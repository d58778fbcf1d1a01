"""Linear layers with constant weights, into which a scale and a shift per channel can be folded."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Array, Node, Tensor, Value
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.batch_norm import is_inference


@dataclass(frozen=True, slots=True)
class LinearLayer:
    """A node y = weight * x + bias, where * is a convolution or a matrix product.

    axis: the axis of the weight that corresponds to the channels, axis 1 of y.
    groups: of a ConvTranspose, the number of channels divided by the length of `axis`; else 1.
    """

    node: Node
    weight: Tensor
    bias: Tensor | None
    axis: int
    groups: int

    @property
    def channels(self) -> int:
        return self.weight.shape[self.axis] * self.groups


def linear_layer_of(value: Value | None, edit: Edit) -> LinearLayer | None:
    """The linear layer that produces a value with one use; None if there is none with constant weight and bias."""
    node = None if value is None else value.producer
    if node is None or value is None or not edit.has_one_use(value):
        return None
    if len(node.inputs) < 2 or not edit.is_a(node, node.op_type, node.domain):
        return None
    operator = edit.operator_of(node)
    kind = operator.op.linear_layer if operator is not None else None
    if kind is None:
        return None
    bias_value = node.inputs[2] if len(node.inputs) > 2 else None
    weight, bias = edit.tensor(node.inputs[1]), edit.tensor(bias_value)
    if weight is None or (bias_value is not None and bias is None) or not is_float(weight):
        return None
    attributes = edit.attributes(node)
    if kind == "batch_normalization" and not is_inference(node, attributes):
        return None
    if kind == "gemm":
        return gemm_layer(node, weight, bias, attributes)
    if kind == "conv_transpose":
        group = attributes["group"]
        assert isinstance(group, int), "group is an integer"
        return LinearLayer(node, weight, bias, 1, group)
    return LinearLayer(node, weight, bias, 0, 1)


def gemm_layer(
    node: Node, weight: Tensor, bias: Tensor | None, attributes: dict[str, object]
) -> LinearLayer | None:
    if attributes["alpha"] != 1 or (bias is not None and attributes["beta"] != 1):
        return None
    axis = 0 if attributes["transB"] else 1
    if bias is not None and bias.shape not in ((weight.shape[axis],), (1, weight.shape[axis])):
        return None
    return LinearLayer(node, weight, bias, axis, 1)


def is_float(tensor: Tensor) -> bool:
    return tensor.dtype.numpy in (np.dtype("f2"), np.dtype("f4"), np.dtype("f8"))


def fold_scale_and_shift(layer: LinearLayer, factor: Array | None, shift: Array | None, edit: Edit) -> None:
    """Make a layer compute factor * y + shift; both have shape [channels], or are None for no change."""
    node, dtype = layer.node, layer.weight.dtype.numpy
    inputs = list(node.inputs)
    name = node.name or node.outputs[0].name
    if factor is not None:
        scaled = scale_weight(layer, factor)
        inputs[1] = edit.make_constant(scaled, f"{name}/weight", before=node)
    bias = np.zeros(layer.channels) if layer.bias is None else layer.bias.numpy().astype(np.float64)
    bias = bias.reshape(-1) * (1 if factor is None else factor) + (0 if shift is None else shift)
    if layer.bias is not None or shift is not None:
        new_bias = edit.make_constant(bias.astype(dtype), f"{name}/bias", before=node)
        inputs[2:3] = [new_bias]
    if (
        edit.attributes(node).get("beta", 1) != 1
    ):  # a Gemm without bias may state any beta; the new bias needs 1
        edit.update(node, inputs=inputs, beta=1.0)
    else:
        edit.update(node, inputs=inputs)


def scale_weight(layer: LinearLayer, factor: Array) -> Array:
    """The weight with each output channel scaled, in double precision and rounded once."""
    weight = layer.weight.numpy()
    if layer.groups > 1:  # [C, M / group, ...]: the first axis determines the group
        grouped = weight.reshape(layer.groups, -1, *weight.shape[1:])
        factors = factor.reshape(layer.groups, 1, -1, *[1] * (weight.ndim - 2))
    else:
        shape = [1] * weight.ndim
        shape[layer.axis] = -1
        grouped, factors = weight, factor.reshape(shape)
    result = np.empty(grouped.shape, weight.dtype)
    np.multiply(grouped, factors, out=result, dtype=np.float64, casting="same_kind")
    release_pages(weight)
    return result.reshape(weight.shape)
