"""Backward slices: the nodes and values that outputs depend on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Node, Value
from sardonyx._src.ir.walk import captures

MAX_PATH_NAMES = 5  # names that a message lists of the path from an output to a missing input


class BackwardSlice:
    """The nodes and values of one graph that target values depend on, captures of subgraphs included."""

    def __init__(self, sources: Collection[Value]) -> None:
        """`sources`: values at which the traversal stops."""
        self.sources = set(sources)
        self.nodes: set[Node] = set()
        self.values: set[Value] = set()
        self._reader: dict[Value, Value | None] = {}  # the value through which a value was first reached

    def add(self, targets: Sequence[Value]) -> None:
        """Add targets and everything they depend on."""
        pending = [value for value in targets if value not in self.values]
        self._reader.update((value, None) for value in pending)
        while pending:
            value = pending.pop()
            if value in self.values:
                continue
            self.values.add(value)
            node = value.producer
            if value in self.sources or node is None or node in self.nodes:
                continue
            self.nodes.add(node)
            for read in operands_of(node):
                if read not in self.values:
                    self._reader.setdefault(read, value)
                    pending.append(read)

    def missing(self, graph: Graph) -> list[Value]:
        """The graph inputs that are needed, but are not sources and have no default."""
        return [
            v for v in graph.inputs if v in self.values and v not in self.sources and v.initializer is None
        ]

    def refuse_missing(self, graph: Graph) -> None:
        """Raise InputError that names each missing input and the path from an output to it."""
        missing = self.missing(graph)
        if missing:
            paths = "; ".join(self.path(value) for value in missing)
            what = f"the outputs need inputs that are not given: {paths}"
            raise InputError(f"{what}; add them to the inputs, or start after them", name=missing[0].name)

    def path(self, value: Value) -> str:
        """The path from an output to a value, abbreviated."""
        names: list[str] = []
        current: Value | None = value
        while current is not None:
            names.append(current.name)
            current = self._reader.get(current)
        names.reverse()
        if len(names) > MAX_PATH_NAMES + 2:
            names[MAX_PATH_NAMES // 2 + 1 : -(MAX_PATH_NAMES // 2) - 1] = ["..."]
        return f"{value.name!r} (through {' <- '.join(names)})"


def operands_of(node: Node) -> Iterator[Value]:
    """The inputs of a node and the captures of its subgraphs."""
    yield from (value for value in node.inputs if value is not None)
    for graph in node.subgraphs:
        yield from captures(graph)
