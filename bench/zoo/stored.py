"""The networks in the onnx wheel, with random weights in place of their constant fills."""

from __future__ import annotations

import math

import numpy as np

import sardonyx as sx
from networks import paths
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType, Value

SEED = 7
IR = 8  # the files are of a version in which every initializer has to be an input


def load_stored(name: str) -> Model:
    """The network `light_<name>.onnx`, whose weights become initializers that are not inputs."""
    (path,) = (p for p in paths() if p.stem == f"light_{name}")
    model = sx.load(path)
    draw = np.random.default_rng(SEED)
    for value in [v for v in model.graph.inputs if v.initializer is not None]:
        model.graph.remove_input(value)  # makes it a constant, which cannot be fed
    for node in [node for node in model.graph.nodes if node.op_type == "ConstantOfShape"]:
        replace_constant(model.graph, node)
    for value in list(model.graph.initializers.values()):
        if not value.uses:
            model.graph.remove_initializer(value)
        elif isinstance(value.type, TensorType) and value.type.dtype is DataType.FLOAT:
            value.initializer = Tensor.of(weights(value, draw), name=value.name)
    model.ir_version = IR
    return sx.infer(model)


def replace_constant(graph: Graph, node: Node) -> None:
    """Replaces a node that repeats one number by a random initializer."""
    (size,), (out,) = node.inputs, node.outputs
    assert size is not None and isinstance(size.initializer, Tensor), f"{out.name} must have a known size"
    tensor = Tensor.of(np.zeros(size.initializer.numpy(), np.float32), name=out.name)
    constant = Value(out.name, TensorType(tensor.dtype, tensor.shape), tensor)
    out.replace_by(graph.add_initializer(constant))
    graph.remove(node)


def weights(value: Value, draw: np.random.Generator) -> Array:
    """Random weights that preserve the variance of activations through the consumer of the value."""
    assert isinstance(value.initializer, Tensor), f"{value.name} must be dense"
    shape = value.initializer.shape
    reader, slot = value.uses[0]
    if reader.op_type in ("Unsqueeze", "Reshape"):
        reader, slot = reader.outputs[0].uses[0]
    match reader.op_type, slot:
        case (("Conv" | "Gemm"), 1):
            fan_in = shape[-1] if reader.op_type == "Gemm" else math.prod(shape[1:])
            numbers = draw.standard_normal(shape, np.float32)
            numbers *= np.float32(math.sqrt(variance_gain(reader) / fan_in))
            return numbers
        case ("BatchNormalization", 1 | 4) | ("Mul", _):
            added = slot == 1 and any(n.op_type == "Sum" for n, _ in reader.outputs[0].uses)
            return (draw.uniform(0.5, 1.5, shape) * (0.3 if added else 1.0)).astype(np.float32)
    return draw.standard_normal(shape, np.float32) * np.float32(0.1)


def variance_gain(node: Node) -> float:
    """The factor of a product on the variance: 2 if a ReLU follows; small before a Softmax, which would otherwise
    saturate and hide differences in the other classes."""
    if next_of(node).op_type == "Softmax":
        return 0.05
    before = node.inputs[0].producer if node.inputs[0] is not None else None
    return 1.0 if before is not None and before.op_type == "BatchNormalization" else 2.0


def next_of(node: Node) -> Node:
    """The first consumer of a node's output, skipping Reshapes; the node itself if there is none."""
    for reader, _ in node.outputs[0].uses:
        return next_of(reader) if reader.op_type == "Reshape" else reader
    return node
