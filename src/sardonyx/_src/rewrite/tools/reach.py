"""What outputs are computed from, up to values that are given."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.walk import captured

SHOWN = 5  # nodes of the way from an output to an input that is missing


class Reach:
    """The nodes and values of one graph that its wanted values need; what subgraphs read of it is needed too."""

    def __init__(self, given: Collection[Value]) -> None:
        """`given`: values at which the search ends."""
        self.given = set(given)
        self.nodes: set[Node] = set()
        self.values: set[Value] = set()
        self._reader: dict[Value, Value | None] = {}  # the value for whose sake a value was needed first

    def add(self, wanted: Sequence[Value]) -> None:
        """Adds values, and what they are computed from."""
        pending = [value for value in wanted if value not in self.values]
        self._reader.update((value, None) for value in pending)
        while pending:
            value = pending.pop()
            if value in self.values:
                continue
            self.values.add(value)
            node = value.producer
            if value in self.given or node is None or node in self.nodes:
                continue
            self.nodes.add(node)
            for read in reads(node):
                if read not in self.values:
                    self._reader.setdefault(read, value)
                    pending.append(read)

    def missing(self, graph: Graph) -> list[Value]:
        """The inputs of the graph that are needed, are not given and have no default."""
        return [v for v in graph.inputs if v in self.values and v not in self.given and v.initializer is None]

    def refuse_missing(self, graph: Graph) -> None:
        """Raises InputError that names each missing input and the way from an output to it."""
        found = self.missing(graph)
        if found:
            ways = "; ".join(self.way(value) for value in found)
            what = f"the outputs need inputs that are not given: {ways}"
            raise InputError(f"{what}; give them too, or cut behind them", name=found[0].name)

    def way(self, value: Value) -> str:
        names: list[str] = []
        at: Value | None = value
        while at is not None:
            names.append(at.name)
            at = self._reader.get(at)
        names.reverse()
        if len(names) > SHOWN + 2:
            names[SHOWN // 2 + 1 : -(SHOWN // 2) - 1] = ["..."]
        return f"{value.name!r} (through {' <- '.join(names)})"


def reads(node: Node) -> Iterator[Value]:
    """The values that a node needs, those that its subgraphs read from outside included."""
    yield from (value for value in node.inputs if value is not None)
    for graph in node.subgraphs:
        yield from captured(graph)
