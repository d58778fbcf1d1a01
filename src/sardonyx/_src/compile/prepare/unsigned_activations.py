"""Activations that are quantized to int8 become uint8.

    q = QuantizeLinear(x, s, z); DequantizeLinear(q, s, z), ...        the same with uint8 zero points z + 128

Kernels multiply uint8 by int8, and would have to add 128 to each int8 activation when they read it.  A QuantizeLinear
is rewritten if only DequantizeLinear nodes read its result.  With both zero points the types saturate at the same
numbers, so the dequantized numbers are equal.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import graphs

SIGN_OFFSET = 128
OUTPUT_DTYPE = "output_dtype"


def quantize_unsigned(model: Model) -> None:
    """Rewrites the activations in the graphs of a model, in place."""
    names: FreshNames | None = None
    for graph in graphs(model.graph):
        for node in list(graph.nodes):
            if is_int8_activation(node):
                names = names or FreshNames.of_graphs([model.graph])
                for each in (node, *(user for user, _ in node.outputs[0].uses)):
                    shift_zero_point(graph, each, names)


def is_int8_activation(node: Node) -> bool:
    """Whether a node quantizes to int8, and only DequantizeLinear nodes read the result."""
    if node.op_type != "QuantizeLinear" or node.domain or not has_int8_zero_point(node):
        return False
    number = node.attributes.get(OUTPUT_DTYPE)
    is_default = number is None or not number.value
    if len(node.inputs) < 3 and is_default:  # the default is uint8
        return False
    if not is_default and number is not None and number.value != DataType.INT8.value:
        return False
    result = node.outputs[0]
    return not result.is_graph_output and all(is_int8_reader(user, slot) for user, slot in result.uses)


def is_int8_reader(node: Node, slot: int) -> bool:
    """Whether a node is a DequantizeLinear that reads the int8 codes at this input slot."""
    return node.op_type == "DequantizeLinear" and not node.domain and slot == 0 and has_int8_zero_point(node)


def has_int8_zero_point(node: Node) -> bool:
    """Whether the zero point is an int8 constant; or omitted, with a constant scale that gives a new one its shape."""
    literal = zero_point_or_scale(node)
    return literal is not None and (len(node.inputs) < 3 or literal.dtype is DataType.INT8)


def zero_point_or_scale(node: Node) -> Tensor | None:
    """The constant zero point; the constant scale if there is none."""
    value = node.inputs[min(len(node.inputs) - 1, 2)] if len(node.inputs) > 1 else None
    literal = None if value is None else value.initializer
    return literal if isinstance(literal, Tensor) else None


def shift_zero_point(graph: Graph, node: Node, names: FreshNames) -> None:
    """Gives a node that `has_int8_zero_point` accepts a uint8 zero point."""
    literal = zero_point_or_scale(node)
    assert literal is not None, f"{node!r} must have a constant zero point or scale"
    point = literal.numpy().astype(np.int16) if len(node.inputs) > 2 else np.zeros(literal.shape, np.int16)
    tensor = Tensor.of((point + SIGN_OFFSET).astype(np.uint8))
    value = Value(names.fresh("zero point"), initializer=tensor)
    value.type = TensorType(tensor.dtype, tensor.shape)
    node.set_inputs([*node.inputs[:2], graph.add_initializer(value)])
    if OUTPUT_DTYPE in node.attributes and node.op_type == "QuantizeLinear":
        node.set_attribute(attribute(OUTPUT_DTYPE, DataType.UINT8.value))
