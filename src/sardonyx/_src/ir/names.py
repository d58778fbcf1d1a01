"""Names that nothing in a graph, or in the graphs inside it, has yet."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.walk import graphs, nodes, values


class Names:
    """The names of values and nodes under a root graph, and new ones."""

    def __init__(self, roots: Iterable[Graph]) -> None:
        """`roots`: graphs that see each other's values: a main graph with its training graphs, or a function's body."""
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}
        for root in roots:
            for graph in graphs(root):
                self.taken.update(value.name for value in values(graph))
            self.taken.update(node.name for node in nodes(root))

    def fresh(self, wanted: str) -> str:
        """`wanted` itself if it is free, else with a number behind it; taken from now on."""
        name = wanted
        while name in self.taken or not name:
            count = self.counts.get(wanted, 0) + 1
            self.counts[wanted] = count
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name
