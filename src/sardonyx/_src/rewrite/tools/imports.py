"""Operator sets that a model and its functions import."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sardonyx._src.ir.graph import Graph, Model
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.tools.calls import main_graphs


def scopes(model: Model) -> Iterator[tuple[list[Graph], dict[str, int]]]:
    """The graphs that go by the same imports, with these: main and training graphs, then every function's body."""
    yield main_graphs(model), model.opset_imports
    for function in model.functions.values():
        yield [function.body], function.opset_imports


def drop_unused(model: Model, domains: Collection[str]) -> None:
    """Takes out the imports of those of the domains of which no node is where they are imported.

    The model keeps those of its functions' domains.
    """
    kept = {domain for domain, *_ in model.functions}
    for graphs, imports in scopes(model):
        for domain in set(domains) - domains_of(graphs) - kept:
            imports.pop(domain, None)
        kept = set()


def domains_of(graphs: Iterable[Graph]) -> set[str]:
    """The domains of the nodes of graphs and of those inside them."""
    return {node.domain for graph in graphs for node in nodes(graph)}
