"""Nodes written out for fusion: what constants decide is worked out beforehand."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.elementwise.arithmetic import normalization_columns
from sardonyx._src.ir.graph import Graph, Model, Node, Value
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import TensorType


def spell_out(model: Model) -> None:
    """BatchNormalization of constant float32 statistics becomes a product and a sum for each channel, typed."""
    graph = model.graph
    for node in list(graph.nodes):
        columns = normalization(node)
        if columns is not None:
            replaced(graph, node, *columns)


def normalization(node: Node) -> tuple[Array, Array] | None:
    """Factor and addend of a node of inference; None for another one."""
    if node.op_type != "BatchNormalization" or node.domain or len(node.outputs) != 1 or len(node.inputs) != 5:
        return None
    training = node.attributes.get("training_mode")
    found = [one.initializer for one in node.inputs[1:] if one is not None]
    literals = [one.numpy() for one in found if isinstance(one, Tensor)]
    if (training is not None and training.value) or len(literals) != 4:
        return None
    if not all(one.dtype == np.float32 and one.shape == literals[0].shape for one in literals):
        return None
    epsilon = node.attributes.get("epsilon")
    number = 1e-5 if epsilon is None else epsilon.value
    assert isinstance(number, float), f"epsilon is {number!r}"
    scale, bias, mean, variance = literals
    return normalization_columns(scale, bias, mean, variance, number)


def replaced(graph: Graph, node: Node, factor: Array, addend: Array) -> None:
    """Puts the product and the sum in the place of a node whose input has a known rank."""
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
    product = Node("Mul", [x, constants[0]], [scaled], name=node.name)
    graph.insert_before(node, product)
    moved = Value(f"{y.name}/moved", y.type)
    graph.insert_before(node, Node("Add", [scaled, constants[1]], [moved], name=node.name))
    name = y.name
    y.replace_by(moved)
    graph.remove(node)
    moved.name = name
