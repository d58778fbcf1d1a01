"""Decomposition of BatchNormalization with constant statistics into Mul and Add, which fuse into the kernel before them."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.elementwise.arithmetic import fold_normalization
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import TensorType


def decompose(model: Model) -> None:
    """Replaces every BatchNormalization of the main graph that has constant float32 statistics; new values are typed."""
    graph = model.graph
    for node in list(graph.nodes):
        columns = scale_and_shift(node)
        if columns is not None:
            replace_by_mul_add(graph, node, *columns)


def scale_and_shift(node: Node) -> tuple[Array, Array] | None:
    """The factor and the addend [C] of a BatchNormalization in inference mode; None for any other node."""
    if node.op_type != "BatchNormalization" or node.domain or len(node.outputs) != 1 or len(node.inputs) != 5:
        return None
    training = node.attributes.get("training_mode")
    initializers = [value.initializer for value in node.inputs[1:] if value is not None]
    statistics = [tensor.numpy() for tensor in initializers if isinstance(tensor, Tensor)]
    if (training is not None and training.value) or len(statistics) != 4:
        return None
    scale, bias, mean, variance = statistics
    if not all(array.dtype == np.float32 and array.shape == scale.shape for array in statistics):
        return None
    attribute = node.attributes.get("epsilon")
    epsilon = 1e-5 if attribute is None else attribute.value
    assert isinstance(epsilon, float), f"epsilon is {epsilon!r}"
    return fold_normalization(scale, bias, mean, variance, epsilon)


def replace_by_mul_add(graph: Graph, node: Node, factor: Array, addend: Array) -> None:
    """Replaces a node whose input [N, C, ...] has a known rank by x * factor + addend."""
    x, y = node.inputs[0], node.outputs[0]
    if x is None or not isinstance(x.type, TensorType) or x.type.shape is None:
        return
    shape = (-1, *(1 for _ in x.type.shape[2:]))
    constants = []
    for role, numbers in (("factor", factor), ("addend", addend)):
        literal = Tensor.of(numbers.reshape(shape))
        value = Value(f"{y.name}/{role}", TensorType(literal.dtype, literal.shape), literal)
        constants.append(graph.add_initializer(value))
    scaled = Value(f"{y.name}/scaled", x.type)
    graph.insert_before(node, Node("Mul", [x, constants[0]], [scaled], name=node.name))
    shifted = Value(f"{y.name}/shifted", y.type)
    graph.insert_before(node, Node("Add", [scaled, constants[1]], [shifted], name=node.name))
    name = y.name
    y.replace_by(shifted)
    graph.remove(node)
    shifted.name = name
