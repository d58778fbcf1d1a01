"""The nodes of a graph as a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sardonyx._src.suggestions import did_you_mean

if TYPE_CHECKING:
    from sardonyx._src.ir.graph import Graph
    from sardonyx._src.ir.node import Node


class NodeList:
    """The nodes of a graph in order; during iteration, nodes may be added anywhere, and the current one removed."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return self._graph._count

    def __iter__(self) -> Iterator[Node]:
        node = self._graph._first
        while node is not None:
            if node.graph is self._graph:  # a node removed meanwhile still links to those after it
                yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        node = self._graph._last
        while node is not None:
            before = node._previous
            yield node
            node = before

    def __getitem__(self, index: int | str) -> Node:
        """The node at an index, or the first node with a name; in linear time.

        Raises IndexError for an index that no node has, and KeyError, with the closest name, for a name that none has.
        """
        if isinstance(index, str):
            return self._named(index)
        for i, node in enumerate(self if index >= 0 else reversed(self)):
            if i == index or -1 - i == index:
                return node
        raise IndexError(f"node {index} of {len(self)}")

    def _named(self, name: str) -> Node:
        names = []
        for node in self:
            if node.name == name:
                return node
            names.append(node.name)
        raise KeyError(f"the graph has no node {name!r}{did_you_mean(name, filter(None, names))}")

    def __repr__(self) -> str:
        return f"<{len(self)} node{'s' * (len(self) != 1)}>"
