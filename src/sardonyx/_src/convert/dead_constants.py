"""Removal of constants that became unused when an input turned into an attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.walk import graphs, nodes, roots


def referenced_values(model: Model) -> set[Value]:
    """The values that graph outputs, annotations, device configurations or training bindings refer to."""
    referenced: set[Value | str] = set()
    for root in roots(model):
        for graph in graphs(root):
            referenced.update(references_of(graph))
        for node in nodes(root):
            referenced.update(s.tensor for d in node.device_configurations for s in d.sharding_spec)
    for step in model.training:
        referenced.update(v for pair in (*step.initialization_binding, *step.update_binding) for v in pair)
    return {v for v in referenced if isinstance(v, Value)}


def references_of(graph: Graph) -> Iterator[Value | str]:
    """The values that the outputs and quantization annotations of a graph refer to."""
    yield from graph.outputs
    for annotation in graph.quantization_annotations:
        yield annotation.tensor
        yield from annotation.parameters.values()


def remove_dead_constants(read: Iterable[Value | None], referenced: set[Value]) -> list[Node]:
    """Remove the Constant nodes that produce these values and have no uses left; returns them."""
    removed = []
    for value in dict.fromkeys(v for v in read if v is not None and v not in referenced and not v.uses):
        node = value.producer
        if node is not None and node.graph is not None and (node.domain, node.op_type) == ("", "Constant"):
            node.graph.remove(node)
            removed.append(node)
    return removed
