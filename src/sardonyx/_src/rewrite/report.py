"""The report of an optimization."""

from __future__ import annotations

from dataclasses import field

from sardonyx._src.arguments import require_text
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import nodes, roots


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """One edit.

    number: its number, from 1.
    name: the name of the pass.
    place: the node or value that was changed.
    """

    number: int
    name: str
    place: str

    def __str__(self) -> str:
        return f"edit {self.number} ({self.name} at {self.place})"


@dataclass(slots=True)
class PassReport:
    """The number of edits of a pass, and its time in seconds, matching included."""

    edits: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class OptimizationReport:
    """Counts and times of one optimization; nodes of subgraphs and functions are counted too.

    seconds: the duration of the optimization.
    passes: the edits and times by the name of the pass.
    edits: all edits in order.
    stopped: why the passes did not reach a fixpoint; empty if they did.
    running: the pass that is running, or that has failed.
    proved: the number of generated inputs on which results were compared; None without verification.
    unproved: why there were no such inputs.
    """

    nodes_before: int = 0
    nodes_after: int = 0
    seconds: float = 0.0
    passes: dict[str, PassReport] = field(default_factory=dict)
    edits: list[AppliedEdit] = field(default_factory=list)
    stopped: str = ""
    running: str = ""
    proved: int | None = None
    unproved: str = ""

    def of(self, name: str) -> PassReport:
        require_text("name", name)
        if name not in self.passes:
            self.passes[name] = PassReport()
        return self.passes[name]

    def text(self) -> str:
        """The report as a table."""
        rows = [(n, p) for n, p in self.passes.items() if p.edits]
        rows.sort(key=lambda row: -row[1].edits)
        width = max((len(name) for name, _ in rows), default=0)
        lines = [f"nodes: {self.nodes_before} -> {self.nodes_after} ({self.seconds:.2f} s)"]
        lines += [
            f"  {name:{width}}  {pass_report.edits:6} edits  {pass_report.seconds * 1e3:8.1f} ms"
            for name, pass_report in rows
        ]
        if self.stopped:
            lines.append(f"stopped: {self.stopped}")
        if self.proved is not None:
            lines.append(
                f"proof: equal results for {self.proved} set{'s' * (self.proved > 1)} of generated inputs"
                if self.proved
                else f"proof: not provable with generated inputs: {self.unproved}"
            )
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        return {
            "nodes_before": self.nodes_before,
            "nodes_after": self.nodes_after,
            "seconds": self.seconds,
            "edits": len(self.edits),
            "passes": {
                n: {"edits": p.edits, "seconds": p.seconds} for n, p in self.passes.items() if p.edits
            },
            "stopped": self.stopped or None,
            "proved": self.proved,
            "unproved": self.unproved or None,
        }


@dataclass(frozen=True, slots=True)
class Optimization:
    """An optimized model with the report of its passes."""

    model: Model
    report: OptimizationReport


def count_nodes(model: Model) -> int:
    """The number of nodes in all graphs of a model."""
    return sum(1 for root in roots(model) for _ in nodes(root))
