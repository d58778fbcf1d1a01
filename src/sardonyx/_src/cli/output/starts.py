"""The starts of a model as a table with a row for each phase, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import Json
from sardonyx._src.measure.starts import PHASES, StartTiming

NAME_WIDTH, COLUMN_WIDTH = 14, 24
TOTAL, PEAK, STAGE = "first result", "peak memory", "stage"


def starts_text(inputs: Mapping[str, str], timings: Sequence[StartTiming]) -> str:
    """The inputs, and the seconds of each phase of each start in milliseconds, then their sum and the memory."""
    lines = [f"{printable(name)}: {kind}" for name, kind in inputs.items()]
    lines.append(row("", [title(timing) for timing in timings]))
    for phase in PHASES:
        if any(phase in timing.phases for timing in timings):
            lines.append(row(phase, [milliseconds(timing.phases.get(phase)) for timing in timings]))
    lines.append(row(TOTAL, [milliseconds(timing.seconds) for timing in timings]))
    lines.append(row(PEAK, [f"{t.bytes / 2**20:.0f} MiB" if t.bytes is not None else "" for t in timings]))
    lines.append(row(STAGE, [timing.stage for timing in timings]))
    return "\n".join(lines) + "\n"


def title(timing: StartTiming) -> str:
    return timing.engine + (f", {timing.cache} cache" if timing.cache else "")


def row(name: str, cells: Sequence[str]) -> str:
    return (f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>{COLUMN_WIDTH}}" for cell in cells)).rstrip()


def milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.1f} ms"


def starts_json(inputs: Mapping[str, str], timings: Sequence[StartTiming]) -> str:
    """The inputs and starts, with times in seconds."""
    starts: list[Json] = [
        {
            "engine": timing.engine,
            "cache": timing.cache or None,
            "seconds": timing.seconds,
            "phases": dict(timing.phases),
            "bytes": timing.bytes,
            "stage": timing.stage or None,
        }
        for timing in timings
    ]
    return json.dumps({"inputs": dict(inputs), "starts": starts}, indent=1) + "\n"
