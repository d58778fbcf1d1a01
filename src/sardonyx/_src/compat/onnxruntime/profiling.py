"""The profile of an onnxruntime session: events in the trace format of Chrome (Trace Event Format, "complete events")."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path

from sardonyx._src.compat.onnxruntime.node_times import NodeTime
from sardonyx._src.dataclass import dataclass


@dataclass(slots=True)
class SessionProfile:
    """The events of a session since it was opened; times in events are in microseconds.

    prefix: the beginning of the name of the file.
    start_ns: the clock when the session was opened.
    last_run: the start of the last run in nanoseconds, and its feeds.
    """

    prefix: str
    start_ns: int = field(default_factory=time.perf_counter_ns)
    events: list[dict[str, object]] = field(default_factory=list)
    last_run: tuple[int, Mapping[str, object]] | None = None

    def add(self, name: str, start_ns: int, category: str = "Session", **facts: object) -> None:
        """Adds an event that ends now."""
        self.add_event(name, start_ns, time.perf_counter_ns() - start_ns, category, facts)

    def add_nodes(self, times: Sequence[NodeTime]) -> None:
        """Adds events of the nodes of the last run, one after another from its start."""
        assert self.last_run is not None, "there was a run"
        start, _ = self.last_run
        for node in times:
            facts = {"op_name": node.operator, "provider": "CPUExecutionProvider"}
            self.add_event(f"{node.name}_kernel_time", start, node.nanoseconds, "Node", facts)
            start += node.nanoseconds

    def add_event(
        self, name: str, start_ns: int, duration_ns: int, category: str, facts: Mapping[str, object]
    ) -> None:
        self.events.append(
            {
                "cat": category,
                "pid": os.getpid(),
                "tid": threading.get_native_id(),
                "dur": duration_ns // 1000,
                "ts": (start_ns - self.start_ns) // 1000,
                "ph": "X",
                "name": name,
                "args": dict(facts),
            }
        )

    def write(self) -> str:
        """Writes the events; returns the name of the file."""
        stamp = datetime.now().strftime(
            "%Y-%m-%d_%H-%M-%S"
        )  # local time, as in the names that onnxruntime gives
        path = Path(f"{self.prefix}{stamp}.json")
        path.write_text(json.dumps(self.events, indent=1) + "\n", encoding="utf-8")
        return str(path)
