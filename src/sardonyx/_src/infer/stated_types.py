"""Removal of the types that a model declares for inner values, while it is converted: sizes in files are often stale."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sardonyx._src.infer.merge import open_elements
from sardonyx._src.ir import Model, Node, Type, Value
from sardonyx._src.ir.walk import graphs, nodes, roots, values
from sardonyx._src.ops.registry import find


def all_values(model: Model) -> Iterator[Value]:
    for root in roots(model):
        for graph in graphs(root):
            yield from values(graph)


def clear_stated_types(model: Model, without_sizes: Callable[[Type | None], Type | None]) -> None:
    """Removes the types of node outputs that inference can determine, and the sizes of the elements of graph inputs.

    without_sizes: returns what to keep of the type of any other output, as of an unknown operator.
    """
    for value in model.graph.inputs:
        value.type = open_elements(value.type)
    for root in roots(model):
        for node in nodes(root):
            is_inferred = has_inference(model, node)
            for value in node.outputs:
                value.type = None if is_inferred else without_sizes(value.type)


def has_inference(model: Model, node: Node) -> bool:
    """Whether the node's output types can be inferred: it calls a function, or its operator has an inference rule."""
    if (node.domain, node.op_type, node.overload) in model.functions:
        return True
    op = find(node.domain, node.op_type)
    return op is not None and bool(op.infers or op.bodies)
