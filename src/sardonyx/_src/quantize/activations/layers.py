"""The layers that can be computed in integers: convolutions and products of the main graph with constant weights."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.rewrite.engine.view import View

OPERAND, WEIGHT, BIAS = 0, 1, 2  # slots of the inputs of a layer


@dataclass(frozen=True, slots=True, eq=False)
class ProductLayer:
    """A node that sums products of activations and of a constant weight.

    operand: the activations, float32.
    weight: its value; tensor: its elements, float32.
    axis: the axis of the weight's output channels.
    is_convolution: whether the channels of its results are axis 1, not the last one.
    bias: float32 [channels], if the node adds such a constant.
    """

    node: Node
    operand: Value
    weight: Value
    tensor: Tensor
    axis: int
    bias: Tensor | None
    is_convolution: bool

    @property
    def name(self) -> str:
        return self.node.name or self.key

    @property
    def key(self) -> str:
        """The name of the result, which is the same in copies of the model."""
        return self.node.outputs[0].name

    @property
    def channels(self) -> int:
        return self.tensor.shape[self.axis]

    @property
    def names(self) -> list[str]:
        """The names that patterns can match."""
        return [self.node.name, self.weight.name]


def find_product_layers(view: View) -> Iterator[ProductLayer | KeptLayer]:
    """The layers in the order of the graph; those that stay in floats, with the reason."""
    for node in view.model.graph.nodes:
        kind = layer_kind(view, node)
        if kind is None or len(node.inputs) <= WEIGHT:
            continue
        operand, weight = node.inputs[OPERAND], node.inputs[WEIGHT]
        tensor = view.tensor(weight)
        if operand is None or weight is None or tensor is None or view.tensor(operand) is not None:
            continue
        name = node.name or node.outputs[0].name
        why = why_not(view, node, kind, operand, tensor)
        yield KeptLayer(name, why) if why else layer_of(view, node, kind, operand, weight, tensor)


def layer_kind(view: View, node: Node) -> str | None:
    operator = view.operator_of(node)
    if operator is None or node.device_configurations:
        return None
    return operator.op.matrix_product or ("conv" if operator.op.linear_layer == "conv" else None)


def why_not(view: View, node: Node, kind: str, operand: Value, tensor: Tensor) -> str:
    """Why a layer cannot be computed in integers; "" if it can."""
    operand_type = view.type(operand)
    if tensor.dtype is not DataType.FLOAT or operand_type is None or operand_type.dtype is not DataType.FLOAT:
        return f"its weight is {tensor.dtype.name}"
    if not tensor.size:
        return "its weight has no elements"
    if kind == "matmul" and len(tensor.shape) != 2:
        return f"its weight has {len(tensor.shape)} dims"
    attributes = view.attributes(node)
    if kind == "gemm" and (attributes["transA"] or attributes["alpha"] != 1.0 or attributes["beta"] != 1.0):
        return "its first operand is transposed, or it has factors"
    return ""


def layer_of(
    view: View, node: Node, kind: str, operand: Value, weight: Value, tensor: Tensor
) -> ProductLayer:
    axis = 0 if kind == "conv" or (kind == "gemm" and view.attributes(node)["transB"]) else 1
    bias = view.tensor(node.inputs[BIAS]) if len(node.inputs) > BIAS else None
    if bias is not None and (bias.shape != (tensor.shape[axis],) or bias.dtype is not DataType.FLOAT):
        bias = None
    return ProductLayer(node, operand, weight, tensor, axis, bias, kind == "conv")
