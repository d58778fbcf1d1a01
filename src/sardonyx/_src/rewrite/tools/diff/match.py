"""Which node of one graph is which of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable

from sardonyx._src.ir.graph import Attribute, Graph, Node, Value
from sardonyx._src.ir.tensors import SparseTensor, Tensor


def match(a: Graph, b: Graph) -> dict[Node, Node]:
    """Pairs of nodes of two graphs: by name, by outputs, by how they are computed, by neighbours, by order.

    A pair has one operator, except for nodes that have nothing left but an equal name or first output.
    """
    found = Matching(a, b)
    found.by_key(lambda node: (*operator(node), node.name) if node.name else None, unique=True)
    found.by_key(lambda node: (*operator(node), *outputs(node)) if any(outputs(node)) else None, unique=True)
    table: dict[Hashable, int] = {}
    marks = {**marks_of(a, table), **marks_of(b, table)}
    found.by_key(lambda node: marks[node], unique=False)
    found.by_neighbours()
    found.by_key(lambda node: node.name or None, unique=True)
    found.by_key(lambda node: outputs(node) if any(outputs(node)) else None, unique=True)
    found.by_key(operator, unique=False)
    return found.pairs


def operator(node: Node) -> tuple[str, str, str]:
    return node.domain, node.op_type, node.overload


def outputs(node: Node) -> tuple[str, ...]:
    return tuple(value.name for value in node.outputs)


class Matching:
    """Nodes of two graphs, and the pairs so far."""

    def __init__(self, a: Graph, b: Graph) -> None:
        self.a, self.b = a, b
        self.pairs: dict[Node, Node] = {}
        self.taken: set[Node] = set()

    def put(self, one: Node, other: Node) -> None:
        self.pairs[one] = other
        self.taken.add(other)

    def by_key(self, key: Callable[[Node], Hashable | None], *, unique: bool) -> None:
        """Pairs nodes of equal keys: only where each side has one of them, or in order."""
        left = grouped((n for n in self.a.nodes if n not in self.pairs), key)
        right = grouped((n for n in self.b.nodes if n not in self.taken), key)
        for one, group in left.items():
            others = right.get(one, [])
            if unique and (len(group) > 1 or len(others) > 1):
                continue
            for node, other in zip(group, others, strict=False):
                self.put(node, other)

    def by_neighbours(self) -> None:
        """Pairs what stands at the same input, or reads the same output, of nodes that are pairs."""
        pending = list(self.pairs.items())
        while pending:
            one, other = pending.pop()
            for node, twin in (*producers(one, other), *readers(one, other)):
                if node not in self.pairs and twin not in self.taken and operator(node) == operator(twin):
                    self.put(node, twin)
                    pending.append((node, twin))


def grouped(nodes: Iterable[Node], key: Callable[[Node], Hashable | None]) -> dict[Hashable, list[Node]]:
    found: defaultdict[Hashable, list[Node]] = defaultdict(list)
    for node in nodes:
        mark = key(node)
        if mark is not None:
            found[mark].append(node)
    return found


def producers(one: Node, other: Node) -> list[tuple[Node, Node]]:
    """The nodes that make the inputs of a pair, slot by slot, in the graphs of the pair."""
    return [
        (a.producer, b.producer)
        for a, b in zip(one.inputs, other.inputs, strict=False)
        if a is not None and b is not None and a.producer is not None and b.producer is not None
        if a.producer.graph is one.graph and b.producer.graph is other.graph
    ]


def readers(one: Node, other: Node) -> list[tuple[Node, Node]]:
    """The only readers of an output of a pair, slot by slot."""
    found = []
    for a, b in zip(one.outputs, other.outputs, strict=False):
        left = {node for node, _ in a.uses if node.graph is one.graph}
        right = {node for node, _ in b.uses if node.graph is other.graph}
        if len(left) == len(right) == 1:
            found.append((left.pop(), right.pop()))
    return found


def marks_of(graph: Graph, table: dict[Hashable, int]) -> dict[Node, int]:
    """A number for each node, equal for nodes that compute the same from inputs of the same names.

    Weights count by type and shape alone: reading them would take long.  `table` is shared by graphs that are compared.
    """
    found: dict[Node, int] = {}

    def mark(value: Value | None) -> Hashable:
        if value is None:
            return None
        if value.producer in found:
            return found[value.producer], value.index
        if value.initializer is not None:
            return value.initializer.dtype, value.initializer.shape
        return value.name

    for node in graph.nodes:
        attributes = sorted((name, str(attribute_mark(a))) for name, a in node.attributes.items())
        key = (operator(node), tuple(map(mark, node.inputs)), len(node.outputs), tuple(attributes))
        found[node] = table.setdefault(key, len(table))
    return found


def attribute_mark(attribute: Attribute) -> object:
    """What tells attributes apart cheaply: the value of a small one, type and shape of a tensor, size of a graph."""
    value = attribute.value
    if isinstance(value, Tensor | SparseTensor):
        return value.dtype, value.shape
    if isinstance(value, Graph):
        return len(value.nodes), len(value.inputs), len(value.outputs)
    if attribute.graphs or (isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value)):
        return len(attribute.graphs) or value is not None
    return attribute.ref, value
