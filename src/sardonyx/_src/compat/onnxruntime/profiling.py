"""The profile of an onnxruntime session: events in the trace format of Chrome (Trace Event Format, "complete events")."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path


@dataclass(slots=True)
class SessionProfile:
    """The events of a session since it was opened; times in microseconds."""

    prefix: str
    start_ns: int = field(default_factory=time.perf_counter_ns)
    events: list[dict[str, object]] = field(default_factory=list)

    def add(self, name: str, start_ns: int, category: str = "Session", **facts: object) -> None:
        """Adds an event that ends now."""
        self.events.append(
            {
                "cat": category,
                "pid": os.getpid(),
                "tid": threading.get_native_id(),
                "dur": (time.perf_counter_ns() - start_ns) // 1000,
                "ts": (start_ns - self.start_ns) // 1000,
                "ph": "X",
                "name": name,
                "args": facts,
            }
        )

    def write(self) -> str:
        """Writes the events; returns the name of the file."""
        stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")  # local time, as onnxruntime's names
        path = Path(f"{self.prefix}{stamp}.json")
        path.write_text(json.dumps(self.events, indent=1) + "\n", encoding="utf-8")
        return str(path)
