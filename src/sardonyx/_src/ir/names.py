"""Fresh names: names that no value or node of a graph has yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count

from sardonyx._src.ir import Graph
from sardonyx._src.ir.walk import graphs, nodes, values


class FreshNames:
    """Generator of names that are not taken; a name that it has returned is taken as well."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self.counts: dict[str, int] = {}

    @classmethod
    def of_graphs(cls, roots: Iterable[Graph]) -> FreshNames:
        """A generator for which all names of values and nodes under the roots are taken.

        roots: graphs that share one name space: a main graph with its training graphs, or a function's body.
        """
        names = cls()
        for root in roots:
            for graph in graphs(root):
                names.taken.update(value.name for value in values(graph))
            names.taken.update(node.name for node in nodes(root))
        return names

    def fresh(self, base: str) -> str:
        """`base` if it is free and not empty, else the first free one of `base_1`, `base_2` ..."""
        name = base
        while name in self.taken or not name:
            number = self.counts.get(base, 0) + 1
            self.counts[base] = number
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


def first_free(base: str, is_taken: Callable[[str], bool], start: int = 1) -> str:
    """The first of `base_1`, `base_2` ... that is not taken, with numbers from `start`."""
    return next(name for i in count(start) if not is_taken(name := f"{base}_{i}"))
