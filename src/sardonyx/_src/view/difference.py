"""The difference of two models as data of a page: matched nodes, and changes with their positions in both documents."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.measure.compare.models import ModelComparison
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.proto import messages as m
from sardonyx._src.tools.diff.difference import Difference, DifferenceKind
from sardonyx._src.tools.diff.graphs import Comparison
from sardonyx._src.tools.diff.models import differences
from sardonyx._src.view.page_data import NONE, ChangeData, ChangeKind, DifferenceData, GraphPair, PlaceData
from sardonyx._src.view.reading.documents import ReadDocument
from sardonyx._src.view.reading.inference import build_model, first_output, output_name, pair_graphs

INFINITE_ERROR = 1e308  # written for an infinite error, which JSON cannot represent
KINDS: dict[str, ChangeKind] = {
    "node": "node",
    "edge": "node",
    "attribute": "attribute",
    "weight": "tensor",
    "input": "value",
    "output": "value",
    "type": "value",
}


@dataclass(slots=True)
class Side:
    """One of two models: its document, and the numbers of its graphs and nodes in the data of the page."""

    document: ReadDocument
    model: Model
    graphs: dict[Graph, int] = field(default_factory=dict)
    nodes: dict[Node, int] = field(default_factory=dict)

    def place(
        self, graph: Graph | None = None, node: Node | None = None, value: str = "", attribute: str = ""
    ) -> PlaceData:
        """The place of a part of the model; its numbers are -1 for parts that the page lacks, such as nodes that loading adds."""
        number = NONE if graph is None else self.graphs.get(graph, NONE)
        names = self.document.graphs.names[number] if number != NONE else {}
        return {
            "graph": number,
            "node": NONE if node is None else self.nodes.get(node, NONE),
            "value": names.get(value, NONE) if value else NONE,
            "attribute": attribute,
        }


def side_of(document: ReadDocument) -> Side:
    """The side of a document.  Raises what reading its model raises, and InvalidModel for a document that is no model."""
    model = build_model(document)
    side = Side(document, model)
    assert isinstance(document.record, m.ModelProto), "a document with a model has its record"
    for record, graph in pair_graphs(document.record, model):
        side.graphs[graph] = document.graphs.numbers[id(record)]
        positions = {first_output(node.output): i for i, node in reversed([*enumerate(record.node)])}
        side.nodes.update({node: positions.get(output_name(node), NONE) for node in graph.nodes})
    return side


class PlacedComparison(Comparison):
    """A comparison that records where each difference is, and which nodes it has matched."""

    def __init__(self, before: Side, after: Side) -> None:
        super().__init__()
        self.before, self.after = before, after
        self.pairs: list[GraphPair] = []
        self.places: dict[int, tuple[PlaceData | None, PlaceData | None]] = {}  # by the id of a difference
        self.current: list[tuple[Graph, Graph]] = []

    def graphs(self, a: Graph, b: Graph, place: str = "") -> Iterator[Difference]:
        self.current.append((a, b))
        for difference in super().graphs(a, b, place):
            if id(difference) not in self.places:
                self.places[id(difference)] = self.of_value(difference, a, b, place)
            yield difference
        self.current.pop()

    def of_value(
        self, difference: Difference, a: Graph, b: Graph, place: str
    ) -> tuple[PlaceData | None, PlaceData | None]:
        """The places of a difference about a value, which ends with the value's name, or about the graphs as a whole."""
        name = difference.place.removeprefix(place)
        left, right = values_by_label(a), values_by_label(b)
        before = left.get(name)
        twin = self.twin.get(before) if before is not None else None
        after = twin or right.get(name)
        return (
            None if difference.what == "added" else self.before.place(a, value=before.name if before else ""),
            None if difference.what == "removed" else self.after.place(b, value=after.name if after else ""),
        )

    def nodes(self, a: Graph, b: Graph, pairs: Mapping[Node, Node], place: str) -> Iterator[Difference]:
        self.pairs.append(self.graph_pair(a, b, pairs))
        paired = set(pairs.values())
        removed = (node for node in a.nodes if node not in pairs)
        added = (node for node in b.nodes if node not in paired)
        for difference in super().nodes(a, b, pairs, place):
            if id(difference) not in self.places and difference.kind == "node":
                self.places[id(difference)] = (
                    (self.before.place(a, next(removed)), None)
                    if difference.what == "removed"
                    else (None, self.after.place(b, next(added)))
                )
            yield difference

    def graph_pair(self, a: Graph, b: Graph, pairs: Mapping[Node, Node]) -> GraphPair:
        """Every node of both graphs, with its counterpart."""
        paired = set(pairs.values())
        rows = [[self.before.nodes[n], self.after.nodes[pairs[n]] if n in pairs else NONE] for n in a.nodes]
        rows += [[NONE, self.after.nodes[n]] for n in b.nodes if n not in paired]
        before, after = self.before.graphs.get(a, NONE), self.after.graphs.get(b, NONE)
        return {"before": before, "after": after, "nodes": [row for row in rows if row != [NONE, NONE]]}

    def node(self, left: Node, right: Node, place: str) -> Iterator[Difference]:
        a, b = self.current[-1]
        for difference in super().node(left, right, place):
            if id(difference) not in self.places:
                name = difference.place.removeprefix(place).strip() if difference.kind == "attribute" else ""
                self.places[id(difference)] = (
                    self.before.place(a, left, attribute=name),
                    self.after.place(b, right, attribute=name),
                )
            yield difference


def values_by_label(graph: Graph) -> dict[str, Value]:
    """The values of a graph by what a difference calls them."""
    computed = (value for node in graph.nodes for value in node.outputs)
    return {repr(value.name): value for value in (*graph.inputs, *graph.initializers.values(), *computed)}


def compare_documents(
    before: ReadDocument, after: ReadDocument, runs: ModelComparison | None = None
) -> DifferenceData:
    """The difference of two documents; if the model of one cannot be built, the summary says why.

    runs: a comparison of runs of both models on the same inputs.
    """
    try:
        sides = side_of(before), side_of(after)
    except SardonyxError as error:
        return {"summary": [f"no difference: {error}"], "graphs": [], "changes": [], "firstDivergence": NONE}
    comparison = PlacedComparison(*sides)
    listed = list(differences(sides[0].model, sides[1].model, comparison))
    changes = [change_of(difference, comparison) for difference in listed]
    first = NONE
    if runs is not None:
        diverging = run_changes(runs, *sides)
        first = len(changes) if diverging else NONE
        changes += diverging
    return {
        "summary": [*summarize(listed), *(runs.summary() if runs is not None else ())],
        "graphs": comparison.pairs,
        "changes": changes,
        "firstDivergence": first,
    }


def change_of(difference: Difference, comparison: PlacedComparison) -> ChangeData:
    before, after = comparison.places.get(id(difference), (None, None))
    kind = KINDS.get(difference.kind, "property")
    if difference.kind == "name" and before is not None:
        kind = "node" if before["node"] != NONE else "value" if before["value"] != NONE else "property"
    error = NONE if difference.distance is None else min(difference.distance.max_rel, INFINITE_ERROR)
    return {
        "kind": kind,
        "change": difference.what,
        "before": before,
        "after": after,
        "text": difference.text().partition(" ")[2],
        "error": error,
    }


def run_changes(runs: ModelComparison, before: Side, after: Side) -> list[ChangeData]:
    """The values in which runs of both models differ, in the order of the first model."""
    graphs = before.model.graph, after.model.graph
    return [
        {
            "kind": "value",
            "change": "changed",
            "before": before.place(graphs[0], value=value.name),
            "after": after.place(graphs[1], value=value.name),
            "text": f"{value.name!r} differs in a run: {value.why}",
            "error": value.error if math.isfinite(value.error) else INFINITE_ERROR,
        }
        for value in runs.values
        if not value.agrees
    ]


def summarize(changes: Sequence[Difference]) -> list[str]:
    """The numbers of changes by kind, and whether callers break."""
    counts: Counter[tuple[DifferenceKind, str]] = Counter((c.kind, c.what) for c in changes)
    lines = [f"{pluralize(count, kind)} {what}" for (kind, what), count in counts.items()]
    if any(change.breaks for change in changes):
        lines.append("callers of the model break")
    return lines or ["no difference"]
