"""Numbers of nodes that calls of model-local functions lead to, which may be exponential in the size of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sardonyx._src.ir import Function, Graph, Model, Node
from sardonyx._src.ir.walk import nodes


def count_inlined_nodes(model: Model) -> dict[Function, int]:
    """For each function, the number of nodes, subgraphs included, after a call of it and all calls inside were inlined; nodes of
    calls count, too.
    """
    return count_nodes(model, nodes)


def count_calls(model: Model) -> dict[Function, int]:
    """For each function, the least number of nodes that a call of it executes, without those of subgraphs.

    It is not known before a run how often subgraphs are executed.
    """
    return count_nodes(model, lambda graph: graph.nodes)


def count_nodes(model: Model, list_nodes: Callable[[Graph], Iterable[Node]]) -> dict[Function, int]:
    """For each function, the number of its nodes and of those of the functions that they call, which are not recursive.

    list_nodes: returns the nodes of a body to count.
    """
    totals: dict[Function, int] = {}
    for function in callees_first(model):
        called = [
            callee for node in list_nodes(function.body) if (callee := callee_of(node, model)) is not None
        ]
        own = sum(1 for _ in list_nodes(function.body))
        totals[function] = own + sum(totals[callee] for callee in called)
    return totals


def callees_first(model: Model) -> list[Function]:
    """The functions of a model, each after those that it calls, in subgraphs too."""
    order: dict[Function, None] = {}
    pending = list(model.functions.values())
    while pending:
        function = pending[-1]
        called = (callee_of(node, model) for node in nodes(function.body))
        unknown = [f for f in dict.fromkeys(called) if f is not None and f not in order]
        pending.extend(unknown)
        if not unknown:
            order[pending.pop()] = None
    return list(order)


def callee_of(node: Node, model: Model) -> Function | None:
    """The model-local function that a node calls."""
    return model.functions.get((node.domain, node.op_type, node.overload))
