"""Look-up of the nodes of a document by the names in compiled steps, which also contain nodes of inlined calls.

Inlining of functions names a node after its call: `call/node`.
"""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.view.page_data import NONE, DocumentData

NodePlace = tuple[int, int]  # the numbers of graph and node
# A node of the main graph or a nested graph; if the name is that of a node inside a call, the call, then the node in the
# body of the function, and so on.
NodePath = tuple[NodePlace, ...]


class NodePlaces:
    """Finds the places of nodes by name.

    tables: for each graph, its nodes by name.
    inner: the nodes of the main graph and of the graphs nested in it, by name.
    """

    def __init__(self, document: DocumentData) -> None:
        self.document = document
        self.tables: dict[int, dict[str, int]] = {}
        self.inner: dict[str, NodePlace] = {}
        for number in reversed(range(len(document["graphs"]))):
            if self.root_of(number) == 0:
                self.inner |= {name: (number, node) for name, node in self.table(number).items()}

    def root_of(self, number: int) -> int:
        """The outermost graph around a graph."""
        while (owner := self.document["graphs"][number]["owner"]) is not None:
            number = owner["graph"]
        return number

    def table(self, number: int) -> dict[str, int]:
        """The nodes of a graph by name."""
        if number not in self.tables:
            self.tables[number] = numbers_by_name(self.document, number)
        return self.tables[number]

    def find_all(self, names: Iterable[str]) -> list[NodePath]:
        """The paths of the names that the model has."""
        return [path for name in names if (path := self.find(name))]

    def find(self, name: str) -> NodePath:
        """The path to the node with a name; empty if the document has no such node."""
        if name in self.inner:
            return (self.inner[name],)
        for call, rest in prefixes(name):
            place = self.inner.get(call)
            if place is not None and self.body_of(place) != NONE:
                return (place, *self.find_in_body(self.body_of(place), rest))
        return ()

    def find_in_body(self, number: int, name: str) -> NodePath:
        """The path to the node with a name in the body of a function."""
        table = self.table(number)
        if name in table:
            return ((number, table[name]),)
        if (node := self.only_node(number, name)) != NONE:
            return ((number, node),)
        for call, rest in prefixes(name):
            place = (number, table[call]) if call in table else None
            if place is not None and self.body_of(place) != NONE:
                return (place, *self.find_in_body(self.body_of(place), rest))
        return ()

    def only_node(self, number: int, operator: str) -> int:
        """The unnamed node that is the only one of an operator in a graph; -1 if there is none.

        Inlining names such a node after its operator.
        """
        columns, strings = self.document["graphs"][number]["nodes"], self.document["strings"]
        nodes = [n for n, text in enumerate(columns["operator"]) if strings[text] == operator]
        return nodes[0] if len(nodes) == 1 and not columns["name"][nodes[0]] else NONE

    def body_of(self, place: NodePlace) -> int:
        """The graph of the function that a node calls; -1 for a node that calls none."""
        return self.document["graphs"][place[0]]["nodes"]["body"][place[1]]


def prefixes(name: str) -> Iterable[tuple[str, str]]:
    """The parts of a name before and after each slash, the longest first part first."""
    parts = name.split("/")
    return (("/".join(parts[:i]), "/".join(parts[i:])) for i in reversed(range(1, len(parts))))


def numbers_by_name(document: DocumentData, number: int) -> dict[str, int]:
    """The nodes of a graph by the names that steps use: the name of the node, or that of an output if it has none."""
    graph, strings = document["graphs"][number], document["strings"]
    columns, values = graph["nodes"], graph["values"]
    result: dict[str, int] = {}
    for node, name in reversed([*enumerate(columns["name"])]):
        if strings[name]:
            result[strings[name]] = node
    for value, node in enumerate(values["producer"]):
        if node >= 0:
            result.setdefault(strings[values["name"][value]], node)
    return result
