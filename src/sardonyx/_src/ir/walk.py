"""Walks over graphs and subgraphs, and locations of nodes for messages."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.ir import Function, Graph, Model, Node, SparseTensor, Tensor, Value


def nodes(graph: Graph) -> Iterator[Node]:
    """Every node of the graph and of the graphs inside it; a node comes before its subgraphs' nodes.

    As during an iteration over `Graph.nodes`, nodes may be added anywhere, and the current one removed.
    """
    node = graph._first
    while (
        node is not None
    ):  # as `NodeList.__iter__`, without a second generator: models are walked dozens of times
        if node.graph is graph:
            yield node
            if node.attributes:
                for inner in node.subgraphs:
                    yield from nodes(inner)
        node = node._next


def graphs(graph: Graph) -> Iterator[Graph]:
    """The graph and every graph inside it."""
    yield graph
    node = graph._first
    while node is not None:
        if node.attributes and node.graph is graph:
            for inner in node.subgraphs:
                yield from graphs(inner)
        node = node._next


def roots(model: Model) -> Iterator[Graph]:
    """The graphs that are not subgraphs: main graph, training graphs, function bodies."""
    yield model.graph
    for step in model.training:
        yield from (g for g in (step.initialization, step.algorithm) if g is not None)
    yield from (function.body for function in model.functions.values())


def values(graph: Graph) -> Iterator[Value]:
    """Every value defined in this graph itself: inputs, initializers, named outputs of nodes."""
    yield from dict.fromkeys((*graph.inputs, *graph.initializers.values()))
    for node in graph.nodes:
        for value in node._outputs:
            if value.name:
                yield value


def captures(graph: Graph) -> list[Value]:
    """The values of enclosing graphs that this graph, or one inside it, reads; each once, in order of first use."""
    result: dict[Value, None] = {}
    defined: set[Graph] = set(graphs(graph))
    for node in nodes(graph):
        for value in node.inputs:
            if value is not None and value.owner not in defined:
                result[value] = None
    for inner in defined:
        for value in inner.outputs:
            if value.owner not in defined:
                result[value] = None
    return list(result)


def location(node: Node, graph: Graph | None = None) -> str:
    """The location of a node, for messages: `graph.node[3] 'stem' (Conv)`."""
    graph = graph or node.graph
    index = -1 if graph is None else graph.position(node)
    return f"{graph_path(graph)}node[{index}]{' ' + repr(node.name) if node.name else ''} ({node.op_type})"


def graph_path(graph: Graph | None) -> str:
    """The prefix of locations in a graph.

    It is empty for a main graph, the location of the node for a subgraph, and the name of the function for its body.
    """
    if graph is None or graph.parent is None:
        return f"{graph.function.label}." if graph is not None and graph.function is not None else ""
    node = graph.parent
    names = [a.name for a in node.attributes.values() if any(g is graph for g in a.graphs)]
    return f"{location(node)}.{names[0] if names else 'graph'}."


def calls(function: Function, model: Model) -> Iterator[Function]:
    """The model-local functions that a function's body calls."""
    for node in nodes(function.body):
        callee = model.functions.get((node.domain, node.op_type, node.overload))
        if callee is not None:
            yield callee


def model_tensors(model: Model) -> Iterator[Tensor]:
    """The initializers of a model and the tensors in attributes of its nodes; for a sparse tensor, its two parts."""
    for graph in (graph for root in roots(model) for graph in graphs(root)):
        for value in graph.initializers.values():
            yield from dense_tensors(value.initializer)
        for node in graph.nodes:
            for attribute in node.attributes.values():
                yield from dense_tensors(attribute.value)


def dense_tensors(value: object) -> Iterator[Tensor]:
    """The tensors in an initializer or an attribute."""
    match value:
        case Tensor():
            yield value
        case SparseTensor():
            yield from (value.values, value.indices)
        case [Tensor() | SparseTensor(), *_]:
            for element in value:
                yield from dense_tensors(element)
