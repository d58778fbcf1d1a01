"""Reserves the nodes of row programs, so that no elementwise group takes them before the pattern of the program is tried.

Otherwise a group that computes the gradient of a norm's output would also take the multiplications at the start of
the norm's own gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sardonyx._src.compile.partition import Scope
from sardonyx._src.compile.partition.fusion.row_programs import RowMatch
from sardonyx._src.compile.partition.patterns.norm_gradient import (
    find_layer_norm_gradients,
    find_rms_norm_gradients,
)
from sardonyx._src.compile.partition.patterns.softmax_gradient import (
    find_log_softmax_gradients,
    find_softmax_gradients,
)
from sardonyx._src.ir import Node

FINDERS: Sequence[Callable[[Node, Scope], Iterator[RowMatch]]] = (
    find_layer_norm_gradients,
    find_rms_norm_gradients,
    find_softmax_gradients,
    find_log_softmax_gradients,
)


def reserve_row_programs(scope: Scope) -> None:
    """Reserves the nodes of the row programs of a graph that is about to be partitioned."""
    for node in scope.graph.nodes:
        if node.domain or node in scope.reserved:
            continue
        for find in FINDERS:
            for match in find(node, scope):
                scope.reserved.update(dict.fromkeys(match.nodes, frozenset(match.nodes)))


def release_nodes(scope: Scope, first: Node) -> None:
    """Ends the reservation of the row program that a node belongs to."""
    for node in scope.reserved.get(first, ()):
        scope.reserved.pop(node, None)
