"""Matching of the nodes of two graphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable

from sardonyx._src.ir import Attribute, Graph, Node, SparseTensor, Tensor, Value


def match(a: Graph, b: Graph) -> dict[Node, Node]:
    """Pair the nodes of two graphs: by name, outputs, structure, neighbors and order.

    Paired nodes have the same operator, except those paired last by an equal name or outputs.
    """
    matching = Matching(a, b)
    matching.by_key(lambda node: (*operator(node), node.name) if node.name else None, unique=True)
    matching.by_key(
        lambda node: (*operator(node), *outputs(node)) if any(outputs(node)) else None, unique=True
    )
    table: dict[Hashable, int] = {}
    marks = {**marks_of(a, table), **marks_of(b, table)}
    matching.by_key(lambda node: marks[node], unique=False)
    matching.by_neighbors()
    matching.by_key(lambda node: node.name or None, unique=True)
    matching.by_key(lambda node: outputs(node) if any(outputs(node)) else None, unique=True)
    matching.by_key(operator, unique=False)
    return matching.pairs


def operator(node: Node) -> tuple[str, str, str]:
    return node.domain, node.op_type, node.overload


def outputs(node: Node) -> tuple[str, ...]:
    return tuple(value.name for value in node.outputs)


class Matching:
    """The pairs of nodes of two graphs found so far."""

    def __init__(self, a: Graph, b: Graph) -> None:
        self.a, self.b = a, b
        self.pairs: dict[Node, Node] = {}
        self.taken: set[Node] = set()

    def add_pair(self, left: Node, right: Node) -> None:
        self.pairs[left] = right
        self.taken.add(right)

    def by_key(self, key: Callable[[Node], Hashable | None], *, unique: bool) -> None:
        """Pair nodes of equal keys, in order; `unique`: only if each side has one of them."""
        left = group_by_key((n for n in self.a.nodes if n not in self.pairs), key)
        right = group_by_key((n for n in self.b.nodes if n not in self.taken), key)
        for mark, group in left.items():
            others = right.get(mark, [])
            if unique and (len(group) > 1 or len(others) > 1):
                continue
            for node, other in zip(group, others, strict=False):
                self.add_pair(node, other)

    def by_neighbors(self) -> None:
        """Pair the producers of the same input, and sole readers of the same output, of paired nodes."""
        pending = list(self.pairs.items())
        while pending:
            left, right = pending.pop()
            for node, twin in (*producers(left, right), *readers(left, right)):
                if node not in self.pairs and twin not in self.taken and operator(node) == operator(twin):
                    self.add_pair(node, twin)
                    pending.append((node, twin))


def group_by_key(nodes: Iterable[Node], key: Callable[[Node], Hashable | None]) -> dict[Hashable, list[Node]]:
    groups: defaultdict[Hashable, list[Node]] = defaultdict(list)
    for node in nodes:
        mark = key(node)
        if mark is not None:
            groups[mark].append(node)
    return groups


def producers(left: Node, right: Node) -> list[tuple[Node, Node]]:
    """The producers of the inputs of a pair, slot by slot, within the graphs of the pair."""
    return [
        (a.producer, b.producer)
        for a, b in zip(left.inputs, right.inputs, strict=False)
        if a is not None and b is not None and a.producer is not None and b.producer is not None
        if a.producer.graph is left.graph and b.producer.graph is right.graph
    ]


def readers(left: Node, right: Node) -> list[tuple[Node, Node]]:
    """The sole readers of the outputs of a pair, slot by slot."""
    pairs = []
    for a, b in zip(left.outputs, right.outputs, strict=False):
        left_readers = {node for node, _ in a.uses if node.graph is left.graph}
        right_readers = {node for node, _ in b.uses if node.graph is right.graph}
        if len(left_readers) == len(right_readers) == 1:
            pairs.append((left_readers.pop(), right_readers.pop()))
    return pairs


def marks_of(graph: Graph, table: dict[Hashable, int]) -> dict[Node, int]:
    """A number per node, equal for nodes that compute the same from inputs of the same names.

    Weights are compared only by type and shape, since reading them is slow.  table: the numbers so far, which the two
    compared graphs share.
    """
    marks: dict[Node, int] = {}

    def mark(value: Value | None) -> Hashable:
        if value is None:
            return None
        if value.producer in marks:
            return marks[value.producer], value.index
        if value.initializer is not None:
            return value.initializer.dtype, value.initializer.shape
        return value.name

    for node in graph.nodes:
        attributes = sorted((name, str(attribute_mark(a))) for name, a in node.attributes.items())
        key = (operator(node), tuple(map(mark, node.inputs)), len(node.outputs), tuple(attributes))
        marks[node] = table.setdefault(key, len(table))
    return marks


def attribute_mark(attribute: Attribute) -> object:
    """A cheap key of an attribute: its value, the type and shape of a tensor, or the size of a graph."""
    value = attribute.value
    if isinstance(value, Tensor | SparseTensor):
        return value.dtype, value.shape
    if isinstance(value, Graph):
        return len(value.nodes), len(value.inputs), len(value.outputs)
    if attribute.graphs or (isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value)):
        return len(attribute.graphs) or value is not None
    return attribute.ref, value
