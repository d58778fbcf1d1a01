"""Reserves the nodes of row programs, so that no elementwise group takes them before the pattern of the program is tried.

Otherwise a group that computes the gradient of a norm's output would also take the multiplications at the start of
the norm's own gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.compile.partition import Scope
from sardonyx._src.compile.partition.regions.registry import REQUIRED_OPERATORS
from sardonyx._src.ir import Node

if TYPE_CHECKING:
    from sardonyx._src.compile.partition.fusion.row_programs import RowMatch

Finder: TypeAlias = "Callable[[Node, Scope], Iterator[RowMatch]]"


def finders(operators: Collection[str]) -> list[Finder]:
    """The functions that find row programs in a graph with these operators."""
    chosen: list[Finder] = []
    if REQUIRED_OPERATORS["norm_gradient"] in operators:
        from sardonyx._src.compile.partition.patterns import norm_gradient  # lazy: gradients

        chosen += [norm_gradient.find_layer_norm_gradients, norm_gradient.find_rms_norm_gradients]
    if REQUIRED_OPERATORS["softmax_gradient"] in operators:
        from sardonyx._src.compile.partition.patterns import softmax_gradient  # lazy: gradients

        chosen += [softmax_gradient.find_softmax_gradients, softmax_gradient.find_log_softmax_gradients]
    return chosen


def reserve_row_programs(scope: Scope) -> None:
    """Reserves the nodes of the row programs of a graph that is about to be partitioned."""
    chosen = finders({node.op_type for node in scope.graph.nodes})
    for node in scope.graph.nodes if chosen else ():
        if node.domain or node in scope.reserved:
            continue
        for find in chosen:
            for match in find(node, scope):
                scope.reserved.update(dict.fromkeys(match.nodes, frozenset(match.nodes)))


def release_nodes(scope: Scope, first: Node) -> None:
    """Ends the reservation of the row program that a node belongs to."""
    for node in scope.reserved.get(first, ()):
        scope.reserved.pop(node, None)
