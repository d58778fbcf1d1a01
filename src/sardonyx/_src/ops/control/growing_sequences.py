"""Sequences that a Loop edits: insertions and erasures that may change the list of the iteration before instead of copying it.

A copy for each of n iterations would take time and memory traffic proportional to n * n.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.walk import captures
from sardonyx._src.ops.sequence.edits import SEQUENCE_EDITS

READERS = {"SequenceLength", "SequenceAt", "ConcatFromSequence"}  # which keep no reference to a sequence


class SequencePath(NamedTuple):
    """What an iteration does to the sequence of one state.  edits: in order.  state: which it is in the next iteration."""

    edits: tuple[Node, ...]
    state: int


def growing_sequences(body: Graph) -> dict[int, tuple[Node, ...]]:
    """By the number of a carried value of a Loop that is a sequence: the nodes that may edit it in place, in order.

    Only those of which nothing else can see the sequence: all that reads it before an edit are operators that keep no
    reference, and after the last edit it is nothing but one carried value of the next iteration.  Carried values may change
    places; those that do are all listed, also those that no node edits.  The caller must own the first lists.
    """
    if body.parent is None or body.parent.op_type != "Loop" or body.parent.domain:
        return {}
    if not any(node.op_type in SEQUENCE_EDITS for node in body.nodes):
        return {}
    paths = SequencePaths.of(body)
    states = enumerate(body.inputs[2:])
    path_by_state = {i: path for i, value in states if (path := paths.follow(value)) is not None}
    return {
        i: path_by_state[i].edits
        for cycle in cycles_of(path_by_state)
        if any(path_by_state[i].edits for i in cycle)
        for i in cycle
    }


def cycles_of(paths: Mapping[int, SequencePath]) -> Iterator[list[int]]:
    """The states that become each other, and at last the first of them again: no list comes from elsewhere.

    No two paths lead to one state.
    """
    seen: set[int] = set()
    for first in paths:
        cycle: list[int] = []
        state = first
        while state in paths and state not in seen:
            seen.add(state)
            cycle.append(state)
            state = paths[state].state
        if cycle and state == first:
            yield cycle


@dataclass(frozen=True, slots=True)
class SequencePaths:
    """The nodes of a Loop's body that a sequence passes through.

    order: the position of each node.  captured: values that inner graphs read.  places: of each output, where it is listed.
    """

    order: Mapping[Node, int]
    captured: frozenset[Value]
    places: Mapping[Value, list[int]]

    @classmethod
    def of(cls, body: Graph) -> SequencePaths:
        captured = (value for node in body.nodes for graph in node.subgraphs for value in captures(graph))
        places: dict[Value, list[int]] = {}
        for i, value in enumerate(body.outputs):
            places.setdefault(value, []).append(i)
        return cls({node: i for i, node in enumerate(body.nodes)}, frozenset(captured), places)

    def follow(self, value: Value) -> SequencePath | None:
        """The path of a carried value; None if something else may see the sequence after an edit."""
        edits: list[Node] = []
        while True:
            names = self.names_of(value)
            users = [use for name in names for use in name.uses if not self.is_identity(use[0])]
            editors = [node for node, slot in users if self.is_editor(node, slot)]
            others = [node for node, slot in users if not self.is_editor(node, slot)]
            places = [place for name in names for place in self.places.get(name, ())]
            if not self.captured.isdisjoint(names) or not all(map(self.is_reader, others)):
                return None
            if not editors:
                is_state = len(places) == 1 and places[0] > 0
                return SequencePath(tuple(edits), places[0] - 1) if is_state else None
            earlier = [*others, *(name.producer for name in names[1:] if name.producer is not None)]
            if len(editors) > 1 or places or not self.is_last(editors[0], earlier):
                return None
            edits.append(editors[0])
            value = editors[0].outputs[0]

    def names_of(self, value: Value) -> list[Value]:
        """The value and, after it, those that are the same list."""
        names = [value]
        for name in names:
            names += [node.outputs[0] for node, _ in name.uses if self.is_identity(node)]
        return names

    def is_last(self, node: Node, others: list[Node]) -> bool:
        return all(self.order[other] < self.order[node] for other in others)

    def is_editor(self, node: Node, slot: int) -> bool:
        return slot == 0 and self.is_operator(node, SEQUENCE_EDITS)

    def is_identity(self, node: Node) -> bool:
        return self.is_operator(node, {"Identity"})

    def is_reader(self, node: Node) -> bool:
        return self.is_operator(node, READERS)

    def is_operator(self, node: Node, names: Container[str]) -> bool:
        """Whether a node of the body itself, not of a graph inside it, calls one of these operators."""
        return node.op_type in names and not node.domain and node in self.order
