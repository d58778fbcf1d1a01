"""The twelve mistakes in onnx.helper, in the order of `mistakes.KINDS`."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def finish(*nodes, constants=()):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def misspelled_operator():
    node = helper.make_node("Rellu", ["x"], ["y"])  # mistake
    return finish(node)


def newer_operator():
    node = helper.make_node("Swish", ["x"], ["y"])  # mistake
    return finish(node)


def missing_input():
    node = helper.make_node("Add", ["x"], ["y"])  # mistake
    return finish(node)


def misspelled_attribute():
    node = helper.make_node("Softmax", ["x"], ["y"], axes=1)  # mistake
    return finish(node)


def attribute_type():
    node = helper.make_node("Softmax", ["x"], ["y"], axis="1")  # mistake
    return finish(node)


def missing_attribute():
    node = helper.make_node("Cast", ["x"], ["y"])  # mistake
    return finish(node)


def element_types():
    node = helper.make_node("Add", ["x", "w"], ["y"])  # mistake
    return finish(node, constants=[("w", np.zeros(4))])


def product_sizes():
    node = helper.make_node("MatMul", ["x", "w"], ["y"])  # mistake
    return finish(node, constants=[("w", np.zeros((3, 2), np.float32))])


def broadcast_sizes():
    node = helper.make_node("Add", ["x", "w"], ["y"])  # mistake
    return finish(node, constants=[("w", np.zeros(3, np.float32))])


def axis_beyond_rank():
    node = helper.make_node("Softmax", ["x"], ["y"], axis=2)  # mistake
    return finish(node)


def two_names():
    node = helper.make_node("Add", ["x", "w"], ["y"])
    weights = [("w", np.zeros(4, np.float32)), ("w", np.ones(4, np.float32))]  # mistake
    return finish(node, constants=weights)


def value_of_branch():
    def branch(name):
        node = helper.make_node("Relu", ["x"], [name])
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, FLOAT, None)])

    choice = helper.make_node("If", ["c"], ["t"], then_branch=branch("inner"), else_branch=branch("other"))
    node = helper.make_node("Relu", ["inner"], ["y"])  # mistake
    return finish(choice, node, constants=[("c", np.array(True))])
