"""Which model-local functions are called, and from where."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.ir.graph import Function, Graph, Model, Node
from sardonyx._src.ir.walk import nodes


def callee(node: Node, model: Model) -> Function | None:
    """The model-local function that a node calls."""
    return model.functions.get((node.domain, node.op_type, node.overload)) if model.functions else None


def main_graphs(model: Model) -> list[Graph]:
    """The main graph and the training graphs."""
    steps = [graph for step in model.training for graph in (step.initialization, step.algorithm)]
    return [model.graph, *(graph for graph in steps if graph is not None)]


def called(model: Model) -> list[Function]:
    """The functions within reach of the main and training graphs, each behind all those that it calls."""
    found: dict[Function, None] = {}
    open_: dict[Function, Iterator[Function]] = {}
    for start in (f for graph in main_graphs(model) for f in callees(graph, model)):
        if start not in found:
            open_[start] = callees(start.body, model)
        while open_:
            current = next(reversed(open_))
            inner = next(open_[current], None)
            if inner is None:
                found[current] = None
                del open_[current]
            elif inner not in found:
                open_[inner] = callees(inner.body, model)
    return list(found)


def callees(graph: Graph, model: Model) -> Iterator[Function]:
    """The functions that the nodes of a graph call, as often as they do."""
    for node in nodes(graph):
        function = callee(node, model)
        if function is not None:
            yield function


def drop_uncalled(model: Model) -> list[str]:
    """Takes out the functions that nothing calls any more; hands out their labels."""
    kept = set(called(model))
    gone = [function for function in model.functions.values() if function not in kept]
    for function in gone:
        del model.functions[function.key]
    return [function.label for function in gone]
