"""Detection of Gradient nodes, which sessions replace before they run a model."""

from __future__ import annotations

from sardonyx._src.ir import Model, Node
from sardonyx._src.ir.walk import nodes

DOMAIN = "ai.onnx.preview.training"


def has_gradient_nodes(model: Model) -> bool:
    """Whether nodes of the main graph or of functions are Gradient nodes."""
    bodies = [(model.graph, model.opset_imports)]
    bodies += [(function.body, function.opset_imports) for function in model.functions.values()]
    return any(DOMAIN in imports and any(map(is_gradient, nodes(graph))) for graph, imports in bodies)


def is_gradient(node: Node) -> bool:
    return node.op_type == "Gradient" and node.domain == DOMAIN
