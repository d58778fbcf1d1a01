"""The graphs under construction: the main graph, subgraphs of nodes and bodies of functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Value


@dataclass(slots=True)
class Scopes:
    """A stack of graphs; calls append to the innermost one.

    A subgraph can read the values of its enclosing graphs, the body of a function only its own values.
    graphs: the graphs, the main graph first.
    function_depths: the positions in `graphs` of bodies of functions.
    """

    graphs: list[Graph]
    function_depths: list[int] = field(default_factory=list)

    @property
    def current(self) -> Graph:
        return self.graphs[-1]

    @property
    def in_function(self) -> bool:
        return bool(self.function_depths)

    @property
    def literal_graph(self) -> Graph | None:
        """The graph whose initializers hold literals; None inside functions, which have no initializers."""
        return None if self.in_function else self.graphs[0]

    @contextmanager
    def enter(self, graph: Graph, *, is_function: bool = False) -> Iterator[Graph]:
        """Makes a graph the innermost one for the duration of a `with` block."""
        if is_function:
            self.function_depths.append(len(self.graphs))
        self.graphs.append(graph)
        try:
            yield graph
        finally:
            self.graphs.pop()
            if is_function:
                self.function_depths.pop()

    def require_visible(self, value: Value, what: str) -> None:
        """Raises InputError for a value that the innermost graph cannot read."""
        first = self.function_depths[-1] if self.function_depths else 0
        if value.owner in self.graphs[first:]:
            return
        if value.owner in self.graphs:
            why = "belongs to a graph outside of the function; pass it to the function as an argument"
        elif value.owner is None:
            why = "belongs to no graph"
        else:
            why = "belongs to another graph, or to a subgraph that is complete; return it from there"
        raise InputError(f"{what} must be a value that this graph can read; {value.name!r} {why}", name=what)
