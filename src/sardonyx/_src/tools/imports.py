"""The opset imports of a model and its functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sardonyx._src.ir import Graph, Model
from sardonyx._src.ir.walk import nodes
from sardonyx._src.tools.calls import main_graphs


def scopes(model: Model) -> Iterator[tuple[list[Graph], dict[str, int]]]:
    """The graphs that share an import table, with the table: main and training graphs, then each function's body."""
    yield main_graphs(model), model.opset_imports
    for function in model.functions.values():
        yield [function.body], function.opset_imports


def remove_unused_imports(model: Model, domains: Collection[str]) -> None:
    """Remove the imports of those domains that no node in scope uses.

    The model keeps the domains of its functions.
    """
    needed = {domain for domain, *_ in model.functions}
    for graphs, imports in scopes(model):
        for domain in set(domains) - domains_of(graphs) - needed:
            imports.pop(domain, None)
        needed = set()


def domains_of(graphs: Iterable[Graph]) -> set[str]:
    """The domains of all nodes of graphs, subgraphs included."""
    return {node.domain for graph in graphs for node in nodes(graph)}
