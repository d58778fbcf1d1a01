"""Constants that nobody reads any more, because what they said has become an attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sardonyx._src.ir.graph import Graph, Model, Node, Value
from sardonyx._src.ir.walk import graphs, nodes, roots


def mentioned(model: Model) -> set[Value]:
    """The values that something else than a node's inputs mentions: results, annotations, devices, bindings."""
    found: set[Value | str] = set()
    for root in roots(model):
        for graph in graphs(root):
            found.update(of_graph(graph))
        for node in nodes(root):
            found.update(s.tensor for d in node.device_configurations for s in d.sharding_spec)
    for step in model.training:
        found.update(v for pair in (*step.initialization_binding, *step.update_binding) for v in pair)
    return {v for v in found if isinstance(v, Value)}


def of_graph(graph: Graph) -> Iterator[Value | str]:
    yield from graph.outputs
    for annotation in graph.quantization_annotations:
        yield annotation.tensor
        yield from annotation.parameters.values()


def clear(read: Iterable[Value | None], kept: set[Value]) -> list[Node]:
    """Takes out the Constants among the makers of these values that have no reader left; hands them out."""
    gone = []
    for value in dict.fromkeys(v for v in read if v is not None and v not in kept and not v.uses):
        node = value.producer
        if node is not None and node.graph is not None and (node.domain, node.op_type) == ("", "Constant"):
            node.graph.remove(node)
            gone.append(node)
    return gone
