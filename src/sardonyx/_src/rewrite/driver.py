"""Runs passes over a model until none of them finds anything to do."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.verify import verify
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.index import name_of
from sardonyx._src.rewrite.api import PHASES, Pass, Phase
from sardonyx._src.rewrite.edit import GROWTH, Edit
from sardonyx._src.rewrite.match import matches
from sardonyx._src.rewrite.pages import asked_about, find, page
from sardonyx._src.rewrite.pattern import Pattern, parsed
from sardonyx._src.rewrite.report import Applied, OptimizationReport
from sardonyx._src.rewrite.template import can_be_written, put
from sardonyx._src.rewrite.view import Versions

ROUNDS = 16  # of all phases; what goes on longer than this undoes itself
PER_NODE = 100  # edits, likewise


class Stop(Exception):
    """The budget is spent: the model is whole, and stays as it is."""


@dataclass(slots=True)
class Budget:
    """How far a run may go: edits, seconds, bytes that constants may add to the file."""

    edits: int | None = None
    seconds: float | None = None
    growth: int = GROWTH


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A pass ready to run: what its page says, read; `rooted` if it is asked about certain operators only."""

    one: Pass
    name: str
    versions: Versions
    rooted: bool
    before: tuple[Pattern, ...] = ()
    after: Pattern | None = None


def ready(name: str) -> Ready:
    one, said = find(name), page(name)
    if one.kind != "pattern":
        return Ready(one, said.name, said.versions, bool(one.roots))
    return Ready(one, said.name, said.versions, True, tuple(map(parsed, said.before)), parsed(said.after))


@dataclass(slots=True)
class Driver:
    """One run of some passes over one model, which is changed in place."""

    edit: Edit
    report: OptimizationReport
    budget: Budget
    debug: bool = False
    progress: Callable[[int], None] | None = None
    _deadline: float = field(default=float("inf"))

    def run(self, passes: Sequence[str]) -> None:
        """Runs the phases of the passes of these names again and again until a round changes nothing, or the budget
        is spent."""
        if self.budget.seconds is not None:
            self._deadline = time.perf_counter() + self.budget.seconds
        tables = [Table(passes, phase) for phase in PHASES]
        try:
            for _ in range(ROUNDS):
                before = len(self.report.edits)
                for table in tables:
                    self.phase(table)
                if len(self.report.edits) == before:
                    return
                self.edit.facts.renew()
            self.report.stopped = f"after {ROUNDS} rounds, each of which changed something"
        except Stop as stop:
            self.report.stopped = str(stop)

    def phase(self, table: Table) -> None:
        """Asks the passes of a phase about every node, and again about those that changes have touched."""
        queue = Queue(self.edit, [n for root in roots(self.edit.model) for n in nodes(root)])
        before = -1
        while len(self.report.edits) != before:
            before = len(self.report.edits)
            while (node := queue.next()) is not None:
                for one in table.of(node):
                    if self.ask(one, node):
                        queue.fill()
                        if not self.edit.is_gone(node):
                            queue.add(node)
                        break
            for one in table.sweeps:
                self.sweep(one)
                queue.fill()

    def ask(self, one: Ready, node: Node) -> bool:
        """Asks a pass about a node; answers whether the model changed."""
        self.check_budget()
        start = time.perf_counter()
        self.edit.reads = one.versions
        name, outputs = node.name, node.outputs  # which may be another node's afterwards
        done = rewritten(one, node, self.edit)
        self.report.of(one.name).seconds += time.perf_counter() - start
        if done:
            self.count(one, f"{node.op_type} {place(name, outputs)!r}")
        return done

    def sweep(self, one: Ready) -> None:
        assert one.one.on_model is not None, f"{one.name} is a sweep"
        self.check_budget()
        self.edit.reads = one.versions
        found = self.report.of(one.name)
        start = time.perf_counter()
        for name in one.one.on_model(self.edit):
            self.count(one, name)
            self.check_budget()
        found.seconds += time.perf_counter() - start

    def count(self, one: Ready, name: str) -> None:
        """Notes an edit, which in debug mode has to leave a model that holds together."""
        self.report.of(one.name).edits += 1
        self.report.edits.append(Applied(len(self.report.edits) + 1, one.name, name))
        if self.debug:
            verify(self.edit.model)
        if self.progress is not None:
            self.progress(len(self.report.edits))

    def check_budget(self) -> None:
        limit = self.budget.edits
        if limit is not None and len(self.report.edits) >= limit:
            raise Stop(f"after {limit} edits")
        if len(self.report.edits) > PER_NODE * (self.report.nodes_before + 100):
            raise Stop(f"after {len(self.report.edits)} edits: passes undo each other")
        if time.perf_counter() > self._deadline:
            raise Stop(f"after {self.budget.seconds} seconds")


def rewritten(one: Ready, node: Node, edit: Edit) -> bool:
    if one.rooted and not edit.is_a(node, node.op_type, node.domain):
        return False
    if one.one.on_node is not None:
        return one.one.on_node(node, edit)
    ask, after = one.one.on_match, one.after
    assert ask is not None and after is not None, f"{one.name} is a pattern"
    if not can_be_written(after, node, edit):
        return False
    for before in one.before:
        for match in matches(before, node, edit):
            extra = ask(match)
            if extra is not None:
                return put(after, match, extra)
    return False


class Table:
    """Which passes of a phase are asked about nodes of which operator; the first such node brings them in."""

    def __init__(self, passes: Sequence[str], phase: Phase) -> None:
        self.phase = phase
        self.names: dict[str, list[str]] = {}
        self.rooted: dict[str, list[Ready]] = {}
        for name in passes:
            for root in asked_about(name):
                self.names.setdefault(root, []).append(name)
        rootless = self.ready(name for name in passes if not asked_about(name))
        self.sweeps = [one for one in rootless if one.one.kind == "sweep"]
        self.everywhere = [one for one in rootless if one.one.kind != "sweep"]

    def ready(self, names: Iterable[str]) -> list[Ready]:
        return [one for one in map(ready, names) if one.one.phase == self.phase]

    def of(self, node: Node) -> Iterator[Ready]:
        yield from self.everywhere
        root = name_of(node.domain, node.op_type)
        if root in self.names:
            if root not in self.rooted:
                self.rooted[root] = self.ready(self.names[root])
            yield from self.rooted[root]


class Queue:
    """Nodes to look at, each at most once at a time."""

    def __init__(self, edit: Edit, first: Sequence[Node]) -> None:
        self.edit = edit
        self.waiting = deque(first)
        self.inside = set(first)
        edit.touched.clear()

    def next(self) -> Node | None:
        while self.waiting:
            node = self.waiting.popleft()
            self.inside.discard(node)
            if not self.edit.is_gone(node):
                return node
        return None

    def add(self, node: Node) -> None:
        if node not in self.inside:
            self.inside.add(node)
            self.waiting.append(node)

    def fill(self) -> None:
        """Takes over the nodes that changes have touched."""
        for node in self.edit.touched:
            self.add(node)
        self.edit.touched.clear()


def place(name: str, outputs: Sequence[Value]) -> str:
    """How a report names a node: by its own name, or its first output's."""
    return name or next((v.name for v in outputs if v.name), "")
