"""The outline of a graph: as many scopes are opened as a picture has room for.

A scope (docs/glossary.md) is drawn as one box until it is opened.  Edges connect the boxes that are visible then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Literal

from sardonyx._src.dataclass import dataclass
from sardonyx._src.view.page_data import NONE, DocumentData, GraphData

BoxKind = Literal["node", "scope", "input", "output"]
MAX_PORTS = 24  # inputs or outputs of a graph that have boxes of their own


@dataclass(frozen=True, slots=True)
class OutlineBox:
    """A box of an outline.

    key: a unique name in the outline, of ASCII letters and digits.
    lines: its text.
    scope: the number of the opened scope that contains it.
    """

    key: str
    kind: BoxKind
    lines: tuple[str, ...]
    scope: int


@dataclass(slots=True)
class Outline:
    """The boxes, opened scopes and edges of an outline.

    scopes: for each opened scope, its parent and its label.
    edges: the type of a value that flows, by the keys of the boxes that it connects.
    """

    boxes: list[OutlineBox] = field(default_factory=list)
    scopes: dict[int, tuple[int, str]] = field(default_factory=dict)
    edges: dict[tuple[str, str], str] = field(default_factory=dict)


def outline_of(document: DocumentData, number: int, limit: int) -> Outline:
    """The outline of a graph with at most `limit` boxes for nodes and scopes; the scopes must have at most that many children."""
    return Outliner(document, document["graphs"][number], limit).run()


class Outliner:
    """Builds an outline."""

    def __init__(self, document: DocumentData, graph: GraphData, limit: int) -> None:
        self.document, self.graph = document, graph
        self.strings = document["strings"]
        self.children: list[list[int]] = [[] for _ in graph["scopes"]["parent"]]
        for scope, parent in enumerate(graph["scopes"]["parent"]):
            if parent != NONE:
                self.children[parent].append(scope)
        self.counts = [len(inner) for inner in self.children]
        for scope in graph["nodes"]["scope"]:
            self.counts[scope] += 1
        self.opened = self.open_scopes(limit)
        self.outline = Outline()

    def open_scopes(self, limit: int) -> set[int]:
        """The scopes to open, outer ones first, as long as the boxes fit; blocks of a repetition stay folded."""
        opened, boxes, waiting = {0}, self.counts[0], deque(self.children[0])
        while waiting:
            scope = waiting.popleft()
            added = self.counts[scope] - 1
            if self.graph["scopes"]["kind"][scope] != "repetition" and boxes + added <= limit:
                opened.add(scope)
                boxes += added
                waiting += self.children[scope]
        return opened

    def run(self) -> Outline:
        parents, labels = self.graph["scopes"]["parent"], self.graph["scopes"]["label"]
        for scope in sorted(self.opened - {0}):
            self.outline.scopes[scope] = parents[scope], self.strings[labels[scope]]
        keys: list[str] = []
        seen: set[str] = set()
        for node in range(len(self.graph["nodes"]["operator"])):
            box = self.box_of(node)
            keys.append(box.key)
            if box.key not in seen:
                seen.add(box.key)
                self.outline.boxes.append(box)
        self.add_inner_edges(keys)
        self.add_ports(keys)
        return self.outline

    def box_of(self, node: int) -> OutlineBox:
        """The box that shows a node: its own, or the box of the outermost enclosing scope that is not opened."""
        nodes, scopes = self.graph["nodes"], self.graph["scopes"]
        scope, closed = nodes["scope"][node], NONE
        while scope != NONE:
            if scope not in self.opened:
                closed = scope
            scope = scopes["parent"][scope]
        if closed == NONE:
            name = self.strings[nodes["name"][node]].rpartition("/")[2]
            lines = (self.strings[nodes["operator"][node]], *([name] if name else []))
            return OutlineBox(f"n{node}", "node", lines, nodes["scope"][node])
        count = scopes["count"][closed]
        times = f" × {count}" if scopes["kind"][closed] == "repetition" else ""
        lines = (f"{self.strings[scopes['label'][closed]]}{times}", f"{scopes['nodes'][closed]} nodes")
        return OutlineBox(f"s{closed}", "scope", lines, scopes["parent"][closed])

    def reads(self) -> Iterator[tuple[int, int]]:
        """The node and the value of each input of a node."""
        start = 0
        for node, end in enumerate(self.graph["nodes"]["inputEnds"]):
            yield from ((node, value) for value in self.graph["nodes"]["inputs"][start:end] if value != NONE)
            start = end

    def add_inner_edges(self, keys: Sequence[str]) -> None:
        producer = self.graph["values"]["producer"]
        for node, value in self.reads():
            if producer[value] != NONE:
                self.add_edge(keys[producer[value]], keys[node], value)

    def add_edge(self, source: str, target: str, value: int) -> None:
        if source != target:
            text = self.strings[self.graph["values"]["type"][value]]
            self.outline.edges.setdefault((source, target), text)

    def add_ports(self, keys: Sequence[str]) -> None:
        """Adds the inputs that callers feed, the values that the graph captures, and the outputs."""
        values = self.graph["values"]
        inputs = [value for value in self.graph["inputs"] if values["tensor"][value] == NONE]
        fed = [*inputs, *filter(self.is_captured, range(len(values["captured"])))][:MAX_PORTS]
        for value in fed:
            self.outline.boxes.append(self.port(f"i{value}", "input", value))
        known = set(fed)
        for node, value in self.reads():
            if value in known:
                self.add_edge(f"i{value}", keys[node], value)
        for value in [value for value in self.graph["outputs"] if value != NONE][:MAX_PORTS]:
            self.outline.boxes.append(self.port(f"o{value}", "output", value))
            producer = values["producer"][value]
            if producer != NONE or value in known:
                self.add_edge(keys[producer] if producer != NONE else f"i{value}", f"o{value}", value)

    def is_captured(self, value: int) -> bool:
        """Whether a value is a captured one that is drawn: the result of a node, or an input, of an enclosing graph."""
        graph = self.graph
        if graph["values"]["captured"][value] == NONE:
            return False
        while (outer := graph["values"]["captured"][value]) != NONE and graph["owner"] is not None:
            graph, value = self.document["graphs"][graph["owner"]["graph"]], outer
        return graph["values"]["tensor"][value] == NONE and value not in graph["values"]["literal"]

    def port(self, key: str, kind: BoxKind, value: int) -> OutlineBox:
        values = self.graph["values"]
        lines = (self.strings[values["name"][value]], self.strings[values["type"][value]])
        return OutlineBox(key, kind, tuple(line for line in lines if line), 0)
