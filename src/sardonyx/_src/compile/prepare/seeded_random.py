"""Random tensors with a seed and a constant shape become constants, since every run draws the same numbers."""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.support.evaluate import evaluate_node

DRAWN_BYTES = 8  # of each element, which is drawn as float64 and then rounded


def fold_seeded_random(model: Model, max_bytes: int) -> None:
    """Replaces the seeded random tensors of the main graph by initializers, `max_bytes` in total.

    The public `optimize` leaves these nodes, since other runtimes draw other numbers.
    """
    graph = model.graph
    for node in [node for node in graph.nodes if is_seeded(node)]:
        size = drawn_bytes(node)
        results = evaluate_node(node, model.opset_imports, ()) if size <= max_bytes else None
        if results is not None and isinstance(results[0], np.ndarray):
            replace_by_initializer(node, results[0], graph)
            max_bytes -= size


def is_seeded(node: Node) -> bool:
    """Whether a node draws the same numbers in every run, and its result can be an initializer."""
    op = find(node.domain, node.op_type)
    is_constant = not node.inputs and not any(v.is_graph_output for v in node.outputs)
    return op is not None and op.is_random and is_constant and "seed" in node.attributes


def drawn_bytes(node: Node) -> int:
    """The bytes that drawing needs; 0 if the node has no shape, and cannot be evaluated."""
    shape = node.attributes["shape"].value if "shape" in node.attributes else None
    return DRAWN_BYTES * math.prod(d for d in shape if isinstance(d, int)) if isinstance(shape, tuple) else 0


def replace_by_initializer(node: Node, elements: Array, graph: Graph) -> None:
    (value,) = node.outputs
    tensor = Tensor.of(elements, name=value.name)
    constant = Value(value.name, TensorType(tensor.dtype, tensor.shape), tensor)
    value.replace_by(graph.add_initializer(constant))
    graph.remove(node)
