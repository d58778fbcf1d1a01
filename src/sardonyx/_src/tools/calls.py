"""The call graph of model-local functions."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.ir import Function, Graph, Model, Node
from sardonyx._src.ir.walk import nodes


def callee(node: Node, model: Model) -> Function | None:
    """The model-local function that a node calls; None for operators."""
    return model.functions.get((node.domain, node.op_type, node.overload)) if model.functions else None


def main_graphs(model: Model) -> list[Graph]:
    """The main graph and the training graphs."""
    steps = [graph for step in model.training for graph in (step.initialization, step.algorithm)]
    return [model.graph, *(graph for graph in steps if graph is not None)]


def reachable_functions(model: Model) -> list[Function]:
    """The functions reachable from the main and training graphs, callees before callers."""
    ordered: dict[Function, None] = {}
    stack: dict[Function, Iterator[Function]] = {}
    for start in (f for graph in main_graphs(model) for f in callees(graph, model)):
        if start not in ordered:
            stack[start] = callees(start.body, model)
        while stack:
            current = next(reversed(stack))
            inner = next(stack[current], None)
            if inner is None:
                ordered[current] = None
                del stack[current]
            elif inner not in ordered:
                stack[inner] = callees(inner.body, model)
    return list(ordered)


def callees(graph: Graph, model: Model) -> Iterator[Function]:
    """The callee of each call in a graph."""
    for node in nodes(graph):
        function = callee(node, model)
        if function is not None:
            yield function


def remove_uncalled(model: Model) -> list[str]:
    """Remove the functions that are not reachable; returns their labels."""
    reachable = set(reachable_functions(model))
    uncalled = [function for function in model.functions.values() if function not in reachable]
    for function in uncalled:
        del model.functions[function.key]
    return [function.label for function in uncalled]
