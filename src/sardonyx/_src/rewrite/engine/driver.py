"""Pass driver: runs passes over a model, with a worklist of nodes, to a fixpoint."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.verify import verify
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.index import qualified_name
from sardonyx._src.rewrite.api import PHASES, Pass, Phase
from sardonyx._src.rewrite.engine.edit import DEFAULT_GROWTH_BYTES, Edit
from sardonyx._src.rewrite.engine.match import matches
from sardonyx._src.rewrite.engine.matcher import may_match
from sardonyx._src.rewrite.engine.pattern import Pattern, parse_pattern
from sardonyx._src.rewrite.engine.template import can_instantiate, instantiate
from sardonyx._src.rewrite.engine.view import Versions
from sardonyx._src.rewrite.pages import find, page, root_operators
from sardonyx._src.rewrite.report import AppliedEdit, OptimizationReport

MAX_ROUNDS = 16  # rounds over all phases; if more are needed, passes undo each other
MAX_EDITS_PER_NODE = 100  # edits for each original node; if more are needed, passes undo each other


class BudgetExhausted(Exception):
    """Raised when the budget is spent.  The model is consistent, and keeps the edits made so far."""


@dataclass(slots=True)
class Budget:
    """Limits of a run.

    edits, seconds: None for no limit.
    growth: the bytes that all new constants together may add to the file.
    result_growth: the bytes that one new constant may add; None for a share of `growth`.
    """

    edits: int | None = None
    seconds: float | None = None
    growth: int = DEFAULT_GROWTH_BYTES
    result_growth: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoadedPass:
    """A pass with its parsed page.

    rooted: whether it applies only to nodes of certain operators.
    before: the alternatives of its pattern; empty for a pass that is no pattern.
    after: the text of the replacement of its pattern, which is parsed at the first match.
    sources: for each alternative, the operators that must compute inputs of the root.
    """

    declaration: Pass
    name: str
    versions: Versions
    rooted: bool
    before: tuple[Pattern, ...] = ()
    after: str = ""
    sources: tuple[frozenset[str], ...] = ()

    def alternatives(self, producers: Collection[str]) -> list[Pattern]:
        """The patterns that may match a root whose inputs are computed by these operators."""
        return [
            before
            for before, sources in zip(self.before, self.sources, strict=True)
            if sources.issubset(producers)
        ]


Candidate: TypeAlias = tuple[
    LoadedPass, Sequence[Pattern]
]  # a pass, and those of its patterns that may match


def load_pass(name: str) -> LoadedPass:
    """Import a pass and parse its page."""
    declared, documented = find(name), page(name)
    if declared.kind != "pattern":
        return LoadedPass(declared, documented.name, documented.versions, bool(declared.roots))
    before = tuple(map(parse_pattern, documented.before))
    return LoadedPass(
        declared,
        documented.name,
        documented.versions,
        True,
        before,
        documented.after,
        tuple(pattern.root_sources for pattern in before),
    )


@dataclass(slots=True)
class Driver:
    """One run of selected passes over one model, which is changed in place."""

    edit: Edit
    report: OptimizationReport
    budget: Budget
    debug: bool = False
    progress: Callable[[int], None] | None = None
    _deadline: float = field(default=float("inf"))

    def run(self, passes: Sequence[str]) -> None:
        """Run all phases of the named passes until a round changes nothing or the budget is spent."""
        if self.budget.seconds is not None:
            self._deadline = time.perf_counter() + self.budget.seconds
        roots_of_passes = {name: root_operators(name) for name in passes}
        tables = [PassTable(roots_of_passes, phase) for phase in PHASES]
        try:
            for _ in range(MAX_ROUNDS):
                before = len(self.report.edits)
                for table in tables:
                    self.phase(table)
                if len(self.report.edits) == before:
                    self.report.running = ""
                    return
                self.report.running = ""
                self.edit.facts.reinfer()
            self.report.stopped = f"after {MAX_ROUNDS} rounds without reaching a fixpoint"
        except BudgetExhausted as stop:
            self.report.stopped = str(stop)
        self.report.running = ""

    def phase(self, table: PassTable) -> None:
        """Try the passes of a phase on every node, and again on the nodes that edits touch."""
        worklist = Worklist(self.edit, [n for root in roots(self.edit.model) for n in nodes(root)])
        before = -1
        while len(self.report.edits) != before:
            before = len(self.report.edits)
            while (node := worklist.next()) is not None:
                self.check_budget()
                if self.try_passes(table, node):
                    worklist.queue_touched()
                    if not self.edit.is_erased(node):
                        worklist.add(node)
            for loaded in table.sweeps:
                self.sweep(loaded)
                worklist.queue_touched()

    def try_passes(self, table: PassTable, node: Node) -> bool:
        """Try the passes of a phase on a node until one changes the model; returns whether one did."""
        version = self.edit.rewritable_version(node)
        return any(
            self.try_pass(loaded, node, alternatives)
            for loaded, alternatives in table.candidates(node, version)
        )

    def try_pass(self, loaded: LoadedPass, node: Node, alternatives: Sequence[Pattern]) -> bool:
        """Try a pass on a node; returns whether the model changed."""
        start = time.perf_counter()
        self.report.running = loaded.name
        self.edit.supported_versions = loaded.versions
        name, outputs = node.name, node._outputs  # for the report: the pass may give them to another node
        done = apply_pass(loaded, node, alternatives, self.edit)
        pass_report = self.report.passes.get(loaded.name) or self.report.of(loaded.name)
        pass_report.seconds += time.perf_counter() - start
        if done:
            self.record_edit(loaded, f"{node.op_type} {node_label(name, outputs)!r}")
        return done

    def sweep(self, loaded: LoadedPass) -> None:
        assert loaded.declaration.on_model is not None, f"{loaded.name} must be a sweep"
        self.check_budget()
        self.report.running = loaded.name
        self.edit.supported_versions = loaded.versions
        pass_report = self.report.of(loaded.name)
        start = time.perf_counter()
        for name in loaded.declaration.on_model(self.edit):
            self.record_edit(loaded, name)
            self.check_budget()
        pass_report.seconds += time.perf_counter() - start

    def record_edit(self, loaded: LoadedPass, name: str) -> None:
        """Record an edit; in debug mode, verify the model after it."""
        self.report.of(loaded.name).edits += 1
        self.report.edits.append(AppliedEdit(len(self.report.edits) + 1, loaded.name, name))
        if self.debug:
            verify(self.edit.model)
        if self.progress is not None:
            self.progress(len(self.report.edits))

    def check_budget(self) -> None:
        limit = self.budget.edits
        if limit is not None and len(self.report.edits) >= limit:
            raise BudgetExhausted(f"after {limit} edits")
        if len(self.report.edits) > MAX_EDITS_PER_NODE * (self.report.nodes_before + 100):
            raise BudgetExhausted(f"after {len(self.report.edits)} edits: passes undo each other")
        if time.perf_counter() > self._deadline:
            raise BudgetExhausted(f"after {self.budget.seconds} seconds")


def apply_pass(loaded: LoadedPass, node: Node, alternatives: Sequence[Pattern], edit: Edit) -> bool:
    """Apply a pass to a node of an operator version that it supports; returns whether the model changed.

    alternatives: the patterns to match.
    """
    if loaded.declaration.on_node is not None:
        return loaded.declaration.on_node(node, edit)
    accept = loaded.declaration.on_match
    assert accept is not None, f"{loaded.name} must be a pattern"
    possible = [before for before in alternatives if may_match(before, before.root, node)]
    if not possible or not can_instantiate(after := parse_pattern(loaded.after), node, edit):
        return False
    for before in possible:
        for match in matches(before, node, edit):
            bindings = accept(match)
            if bindings is not None:
                return instantiate(after, match, bindings)
    return False


class PassTable:
    """The passes of a phase by root operator, each loaded when the first node of that operator is seen."""

    def __init__(self, roots_of_passes: Mapping[str, Collection[str]], phase: Phase) -> None:
        self.phase = phase
        self.names: dict[str, list[str]] = {}
        self.rooted: dict[str, list[LoadedPass]] = {}
        for name, operators in roots_of_passes.items():
            for root in operators:
                self.names.setdefault(root, []).append(name)
        rootless = self.load_passes(name for name, operators in roots_of_passes.items() if not operators)
        self.sweeps = [loaded for loaded in rootless if loaded.declaration.kind == "sweep"]
        self.rootless = [loaded for loaded in rootless if loaded.declaration.kind != "sweep"]
        self._candidates: dict[tuple[str | int | None, ...], list[Candidate]] = {}

    def load_passes(self, names: Iterable[str]) -> list[LoadedPass]:
        return [loaded for loaded in map(load_pass, names) if loaded.declaration.phase == self.phase]

    def candidates(self, node: Node, version: int | None) -> Sequence[Candidate]:
        """The passes that may apply to a node, judged by its operator and by the operators that compute its inputs.

        version: that of the operator; None if no pass may rewrite the node.
        """
        producers = [v.producer.op_type for v in node._inputs if v is not None and v.producer is not None]
        key = (node.domain, node.op_type, version, *producers)
        candidates = self._candidates.get(key)
        if candidates is None:
            candidates = self._candidates[key] = [*self.find_candidates(node, version, frozenset(producers))]
        return candidates

    def find_candidates(
        self, node: Node, version: int | None, producers: Collection[str]
    ) -> Iterator[Candidate]:
        root = qualified_name(node.domain, node.op_type)
        if root in self.names and root not in self.rooted:
            self.rooted[root] = self.load_passes(self.names[root])
        for loaded in (*self.rootless, *self.rooted.get(root, ())):
            is_supported = version in loaded.versions.get((node.domain, node.op_type), ())
            alternatives = loaded.alternatives(producers)
            if (is_supported or not loaded.rooted) and (alternatives or not loaded.before):
                yield loaded, alternatives


class Worklist:
    """Nodes to visit; a node is queued at most once at a time."""

    def __init__(self, edit: Edit, first: Sequence[Node]) -> None:
        self.edit = edit
        self.pending = deque(first)
        self.queued = set(first)
        edit.touched.clear()

    def next(self) -> Node | None:
        while self.pending:
            node = self.pending.popleft()
            self.queued.discard(node)
            if not self.edit.is_erased(node):
                return node
        return None

    def add(self, node: Node) -> None:
        if node not in self.queued:
            self.queued.add(node)
            self.pending.append(node)

    def queue_touched(self) -> None:
        """Queue the nodes that edits have touched."""
        for node in self.edit.touched:
            self.add(node)
        self.edit.touched.clear()


def node_label(name: str, outputs: Sequence[Value]) -> str:
    """The name of a node in reports: its own, or that of its first named output."""
    return name or next((v.name for v in outputs if v.name), "")
