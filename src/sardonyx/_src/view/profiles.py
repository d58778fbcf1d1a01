"""Profiles as data of a page: the time of each step of the native engine, divided among the nodes that it implements.

A region here is a set of nodes that one step implements.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sardonyx._src.arguments import shown
from sardonyx._src.compile.partition.regions.region import name_of
from sardonyx._src.compile.printing.steps import action_kind
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import Action, FallbackOp
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.io.loading.load import PathSource
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.dims import Expr
from sardonyx._src.measure.costs import cost_of
from sardonyx._src.measure.feeds import complete_feeds
from sardonyx._src.measure.profiling import open_native, profile_engine
from sardonyx._src.proto import messages as m
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.programs.memory_report import HeldMemory, action_title, held_memory
from sardonyx._src.view.node_places import NodePath, NodePlace, NodePlaces, numbers_by_name
from sardonyx._src.view.page_data import (
    NONE,
    EngineName,
    GraphData,
    MemoryStep,
    NodeProfile,
    ProfileData,
    RegionData,
)
from sardonyx._src.view.reading.documents import ReadDocument
from sardonyx._src.view.reading.inference import build_model, pair_graphs
from sardonyx._src.view.scopes.order import constant_nodes, producers_of, topological_order

MAX_HELD = 20  # values that are listed at the peak of memory
FALLBACK = "fallback"
Weights = dict[NodePlace, int]


@dataclass(frozen=True, slots=True)
class TimedNodes:
    """A step of a run: its kernel, the names of the nodes that it implements, its seconds, operations and bytes."""

    kernel: str
    names: Sequence[str]
    seconds: float
    flops: int
    bytes: int


def profile_document(
    document: ReadDocument, feeds: Mapping[str, object], dims: Mapping[str, int], seed: int, threads: int = 1
) -> ProfileData:
    """Runs a document's model on the native engine; missing feeds are random, with `seed` and the lengths `dims`.

    Raises what a session with engine="native" raises, and InvalidModel for a document that is no valid model.
    """
    model = build_model(document)
    values = complete_feeds(model, feeds, seed, dims)
    lengths = lengths_of(model, values)
    engine = open_native(model, threads)
    profile = profile_engine(engine, values)
    steps = [
        TimedNodes(action_kind(t.action), nodes_of_action(t.action), t.seconds, t.flops, t.traffic)
        for t in profile.actions
    ]
    data = place_steps(document, steps, node_weights(document, lengths), profile.peak.flops)
    data["memory"] = memory_steps(engine, lengths)
    return data


def lengths_of(model: Model, feeds: Mapping[str, object]) -> dict[str, int]:
    """The lengths of dimension variables that feeds imply."""
    result: dict[str, int] = {}
    for value in model.graph.inputs:
        dims = value.type.shape if isinstance(value.type, TensorType) and value.type.shape else ()
        fed = feeds.get(value.name)
        sizes = fed.shape if isinstance(fed, np.ndarray) else ()
        result |= {str(dim): size for dim, size in zip(dims, sizes, strict=False) if isinstance(dim, Expr)}
    return result


def nodes_of_action(action: Action) -> Sequence[str]:
    """The names of the nodes that an action implements."""
    if isinstance(action, Step):
        return tuple(dict.fromkeys(action.nodes))
    return (name_of(action.node),) if isinstance(action, FallbackOp) else ()


def node_weights(document: ReadDocument, lengths: Mapping[str, int]) -> Weights:
    """The operations of nodes, at least 1, by which the time of a step is divided among its nodes."""
    weights: Weights = {}
    model = infer_partially(build_model(document)).model
    assert isinstance(document.record, m.ModelProto), "a document with a model has its record"
    for record, graph in pair_graphs(document.record, model):
        number = document.graphs.numbers[id(record)]
        positions = numbers_by_name(document.data, number)
        for node in graph.nodes:
            if (position := positions.get(name_of(node))) is not None:
                weights[number, position] = max(1, cost_of(node, lengths).flops or 0)
    return weights


def place_steps(
    document: ReadDocument, steps: Iterable[TimedNodes], weights: Weights, peak_flops: float
) -> ProfileData:
    """The profile of the nodes of the document, from the times of steps; steps that implement no node are left out."""
    places = NodePlaces(document.data)
    placed = [(step, paths) for step in steps if (paths := places.find_all(step.names))]
    members = [{path[0] for path in paths} for _, paths in placed]
    for graph in {number for nodes in members for number, _ in nodes}:
        regions = [{node for number, node in nodes if number == graph} for nodes in members]
        absorb(document.data["graphs"][graph], regions)
        for nodes, region in zip(members, regions, strict=True):
            nodes |= {(graph, node) for node in region}
    table = ProfileTable()
    for (step, paths), nodes in zip(placed, members, strict=True):
        table.add(step, nodes, paths, weights)
    return {
        "unit": "seconds", "peakFlops": peak_flops, "nodes": table.nodes, "regions": table.regions, "memory": [],
    }  # fmt: skip


class ProfileTable:
    """The rows of a profile: one for each node, with the sums of its shares of steps."""

    def __init__(self) -> None:
        self.nodes: NodeProfile = {
            "graph": [], "node": [], "seconds": [], "flops": [], "bytes": [], "engine": [], "region": [],
        }  # fmt: skip
        self.regions: list[RegionData] = []
        self.rows: dict[NodePlace, int] = {}

    def add(
        self, step: TimedNodes, members: Collection[NodePlace], paths: Iterable[NodePath], weights: Weights
    ) -> None:
        """Adds a step: divides its time among its nodes; the share of a call also goes to the nodes of the called function.

        members: the nodes of the step in the main graph and nested graphs.  paths: of each of its nodes; a path is a node,
        then, if that is a call, a node of the called function, and so on.  At each depth the share of the call is divided
        evenly among the nodes there.
        """
        first = len(self.regions)
        graphs = sorted({graph for graph, _ in members})
        for graph in graphs:
            own = sorted(node for number, node in members if number == graph)
            self.regions.append({"name": step.kernel, "graph": graph, "nodes": own})
        total = sum(weights.get(place, 1) for place in members)
        shares = {place: weights.get(place, 1) / total for place in sorted(members)}
        for place, share in shares.items():
            self.add_share(place, step, share, first + graphs.index(place[0]))
        inner: dict[tuple[NodePlace, int], set[NodePlace]] = {}
        for path in paths:
            for depth, place in enumerate(path[1:]):
                inner.setdefault((path[0], depth), set()).add(place)
        for (call, _), bodies in inner.items():
            for place in sorted(bodies):
                self.add_share(place, step, shares[call] / len(bodies), NONE)

    def add_share(self, place: NodePlace, step: TimedNodes, share: float, region: int) -> None:
        """Adds a share of a step to the row of a node."""
        row = self.rows.setdefault(place, len(self.rows))
        columns = self.nodes
        if row == len(columns["node"]):
            engine: EngineName = "reference" if step.kernel.startswith(FALLBACK) else "native"
            columns["graph"].append(place[0])
            columns["node"].append(place[1])
            columns["seconds"].append(0.0)
            columns["flops"].append(0)
            columns["bytes"].append(0)
            columns["engine"].append(engine)
            columns["region"].append(region)
        columns["seconds"][row] += step.seconds * share
        columns["flops"][row] += round(step.flops * share)
        columns["bytes"][row] += round(step.bytes * share)


def absorb(graph: GraphData, regions: Sequence[set[int]]) -> None:
    """Adds nodes that no step names to the region that is their only reader: passes have fused them into its nodes.

    Nodes that compute the same in every run, and nodes that compute an output, are left out.
    """
    producers = producers_of(graph)
    order = topological_order(producers)
    is_constant = constant_nodes(graph, producers, order)
    region_of = {node: i for i, members in enumerate(regions) for node in members}
    readers: dict[int, set[int]] = {}
    for node, inputs in enumerate(producers):
        for producer in inputs:
            readers.setdefault(producer, set()).add(node)
    public = {graph["values"]["producer"][value] for value in graph["outputs"] if value != NONE}
    for node in reversed(order):
        if node in region_of or is_constant[node] or node in public:
            continue
        reading = {region_of.get(reader, NONE) for reader in readers.get(node, ())}
        if len(reading) == 1 and NONE not in reading:
            (region,) = reading
            region_of[node] = region
            regions[region].add(node)


def memory_steps(engine: NativeEngine, lengths: Mapping[str, int]) -> list[MemoryStep]:
    """The bytes that are live at each step, and for the peak the values that are live then."""
    try:
        executable = engine.natives[0].executable  # the program that was used last
        held = held_memory(executable, lengths)
    except InputError:  # a size is only known during a run
        return []
    actions = executable.program.actions
    totals = [0] * (len(actions) + 1)
    for memory in held:
        totals[memory.first] += memory.bytes
        totals[memory.last + 1] -= memory.bytes
    live = [int(total) for total in np.cumsum(totals[:-1])]
    peak_step = live.index(max(live)) if live else 0
    return [
        {"step": action_title(action), "bytes": size, "values": names_at(held, i) if i == peak_step else []}
        for i, (action, size) in enumerate(zip(actions, live, strict=True))
    ]


def names_at(held: Sequence[HeldMemory], step: int) -> list[str]:
    """The largest values that are live at a step."""
    live = [memory for memory in held if memory.first <= step <= memory.last]
    return [memory.name for memory in sorted(live, key=lambda memory: -memory.bytes)[:MAX_HELD]]


def read_stored_profile(document: ReadDocument, path: PathSource) -> ProfileData:
    """The profile in a file that `sardonyx profile --json` has written.

    Raises OSError for a file that cannot be read, and InputError for one that is no such profile, or has no steps.
    """
    try:
        facts = json.loads(Path(path).read_text("utf-8"))
        steps = [
            TimedNodes(
                str(row["kernel"]),
                str(row["nodes"]).split("+"),
                float(row["seconds"]),
                round(row["flops"] * row["seconds"]),  # the file has rates per second
                round(row["bytes"] * row["seconds"]),
            )
            for row in facts["by_step"]
        ]
        peak = float(facts["peak"]["flops"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = "a profile must be a file that `sardonyx profile --json` has written, with steps"
        raise InputError(
            f"{what}; got {shown(str(path))}: {type(error).__name__} {error}", name="profile"
        ) from None
    try:
        weights = node_weights(document, {})
    except SardonyxError:
        weights = {}
    return place_steps(document, steps, weights, peak)
