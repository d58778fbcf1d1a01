"""Branches that no run takes: inference knows the conditions of their If nodes, and does not visit them."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.observer import ContextFactory, NodeObserver
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import Graph, Model, Node, Type
from sardonyx._src.ir.walk import nodes


class Visits(NodeObserver):
    """An observer that notes which nodes inference visits."""

    def __init__(self) -> None:
        self.nodes: set[Node] = set()

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        self.nodes.add(node)
        return types


def untaken_branches(model: Model) -> set[Graph]:
    """The branches that inference does not visit although it visits the other branch of their If node."""
    originals = list(branching_nodes(model))
    if not originals:
        return set()
    copy, visits = model.copy(), Visits()
    infer_partially(copy, observer=visits)
    result: set[Graph] = set()
    for original, node in zip(originals, branching_nodes(copy), strict=True):
        for graph, branch in zip(original.subgraphs, node.subgraphs, strict=True):
            inner = [n for n in branch.nodes if n.op_type != "Constant"]
            if node in visits.nodes and inner and visits.nodes.isdisjoint(inner):
                result.add(graph)
    return result


def branching_nodes(model: Model) -> list[Node]:
    bodies = [model.graph, *(function.body for function in model.functions.values())]
    return [node for body in bodies for node in nodes(body) if node.op_type == "If" and not node.domain]
