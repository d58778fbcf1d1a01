"""Verifier of the invariants of graphs, for passes and tests; models of users are checked by `sardonyx check`."""

from __future__ import annotations

from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.model import require_model
from sardonyx._src.ir.walk import roots, values


def verify(model: Model) -> None:
    """Asserts every invariant of the model's graphs; a failure is a bug in the code that edited the model."""
    require_model(model)
    main = verify_graph(model.graph, set())
    algorithms = [step.algorithm for step in model.training]
    for graph in roots(model):
        if graph is not model.graph:
            verify_graph(graph, main if graph in algorithms else set())


def verify_graph(graph: Graph, outer: set[Value]) -> set[Value]:
    """Asserts that every value is defined before it is used, that both ends of each edge agree, and names are unique.

    Returns the values in scope at the end of the graph.
    """
    known = outer | set(graph.inputs) | set(graph.initializers.values())
    for name, value in graph.initializers.items():
        assert value.name == name and value.initializer is not None, f"initializer {name!r} is {value!r}"
    count = 0
    for node in graph.nodes:
        count += 1
        assert node.graph is graph, f"{node!r} is listed in {graph!r} but belongs to {node.graph!r}"
        verify_edges(node, known)
        for inner in node.subgraphs:
            assert inner.parent is node, f"{inner!r} in {node!r} has parent {inner.parent!r}"
            verify_graph(inner, known)
        known.update(node.outputs)
    assert count == len(graph.nodes), f"{graph!r} counts {len(graph.nodes)} nodes and holds {count}"
    for value in graph.outputs:
        assert value in known, f"output {value!r} of {graph!r} is not defined in it"
    verify_names(graph)
    return known


def verify_edges(node: Node, known: set[Value]) -> None:
    for slot, value in enumerate(node.inputs):
        if value is not None:
            assert value in known, f"{node!r} reads {value!r} before it is defined"
            assert (node, slot) in value._uses, f"{value!r} does not know of its use by {node!r}"
    for slot, value in enumerate(node.outputs):
        assert value.producer is node and value.index == slot, f"{value!r} is not output {slot} of {node!r}"


def verify_names(graph: Graph) -> None:
    seen: dict[str, Value] = {}
    for value in values(graph):
        assert seen.setdefault(value.name, value) is value, (
            f"two values of {graph!r} are named {value.name!r}"
        )
