"""The state of a campaign in a file: which cases have run, and what became of them; a later run resumes there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

import sardonyx
from fuzz.workers import JudgedCase

MAX_NUMBERS, MAX_SLOWEST = 200, 5  # cases that are listed of a fault; slowest cases that are listed


@dataclass
class FaultClass:
    """Faults with one signature: how many, the first cases, and what happened in the first one."""

    kind: str
    signature: str
    detail: str
    count: int = 0
    numbers: list[int] = field(default_factory=list)


@dataclass
class CampaignState:
    """begun: batches, as ranges of numbers, of which some cases have not run.  sources: cases by digest of the sources."""

    campaign: str
    next: int = 0
    begun: list[tuple[int, int]] = field(default_factory=list)
    cases: int = 0
    seconds: float = 0.0
    outcomes: dict[str, int] = field(default_factory=dict)
    faults: list[FaultClass] = field(default_factory=list)
    slowest: list[tuple[float, int]] = field(default_factory=list)
    sources: dict[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, campaign: str) -> CampaignState:
        """The state in a file, or a new one."""
        if not path.exists():
            return cls(campaign)
        fields = json.loads(path.read_text(encoding="utf-8"))
        fields["faults"] = [FaultClass(**entry) for entry in fields["faults"]]
        for name in ("begun", "slowest"):
            fields[name] = [tuple(entry) for entry in fields[name]]
        return cls(**fields)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        partial.replace(path)

    def take_batch(self, size: int, end: int) -> tuple[int, int] | None:
        """The next range of numbers below `end`: one that another run began, or a new one."""
        if self.begun and (batch := next((b for b in self.begun if b[0] < b[1]), None)) is not None:
            self.begun.remove(batch)
            return batch
        if self.next >= end:
            return None
        batch = self.next, min(self.next + size, end)
        self.next = batch[1]
        return batch

    def record(self, judged: JudgedCase, source: str) -> None:
        self.cases += 1
        self.seconds += judged.seconds
        self.sources[source] = self.sources.get(source, 0) + 1
        verdict = judged.verdict
        self.outcomes[verdict.outcome] = self.outcomes.get(verdict.outcome, 0) + 1
        self.slowest = sorted([*self.slowest, (round(judged.seconds, 2), judged.number)], reverse=True)[
            :MAX_SLOWEST
        ]
        if verdict.fault:
            entry = self.fault_class(verdict.fault, verdict.signature, verdict.detail)
            entry.count += 1
            if len(entry.numbers) < MAX_NUMBERS:
                entry.numbers.append(judged.number)

    def forget_faults(self) -> list[int]:
        """Forgets the faults all of whose cases are listed, as if these cases had not run; returns the cases."""
        listed = [entry for entry in self.faults if entry.count == len(entry.numbers)]
        self.faults = [entry for entry in self.faults if entry.count > len(entry.numbers)]
        numbers = sorted(number for entry in listed for number in entry.numbers)
        self.cases -= len(numbers)
        self.outcomes["fault"] = self.outcomes.get("fault", 0) - len(numbers)
        return numbers

    def fault_class(self, kind: str, signature: str, detail: str) -> FaultClass:
        for entry in self.faults:
            if (entry.kind, entry.signature) == (kind, signature):
                return entry
        self.faults.append(FaultClass(kind, signature, detail))
        return self.faults[-1]


def digest_sources() -> str:
    """Identifies the sources of the package that is tested."""
    digest = hashlib.sha256(np.__version__.encode())
    for path in source_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def source_files() -> Iterator[Path]:
    yield from sorted(Path(sardonyx.__path__[0]).rglob("*.py"))
