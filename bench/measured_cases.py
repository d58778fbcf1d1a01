"""Cases of benchmarks that are measured already: an interrupted benchmark goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import BUILD, commit, machine

PATH = BUILD / "measured_cases.jsonl"
Fields = dict[str, Any]


@dataclass
class MeasuredCases:
    """Results as lines of JSON, each with its key: the commit, the machine, and the case.

    path: the file; None keeps nothing.
    """

    path: Path | None = None
    results: dict[str, Fields] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            lines = map(json.loads, self.path.read_text().splitlines())
            self.results |= {line["key"]: line["result"] for line in lines}

    def measure(self, case: tuple[object, ...], measure: Callable[[], Fields]) -> Fields:
        """The result of a case, measured if it is not there."""
        key = case_key(case)
        if key not in self.results:
            self.results[key] = measure()
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a") as lines:
                    lines.write(json.dumps({"key": key, "result": self.results[key]}) + "\n")
        return self.results[key]


def case_key(case: tuple[object, ...]) -> str:
    return json.dumps([commit(), machine(), *map(str, case)])
