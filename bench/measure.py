"""Measurement of programs in fresh processes: several programs in turn, several runs each, medians."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BUILD = FOLDER.parent / ".bench"  # generated models

# The beginning of every measured program: `measured()` measures times, added peak memory and written bytes of a block.
PRELUDE = """
import contextlib, json, time

def resident(kind):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(kind))

def written():
    with open("/proc/self/io") as counts:
        return next(int(line.split()[1]) for line in counts if line.startswith("wchar"))

@contextlib.contextmanager
def measured():
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")  # resets the peak
    before, wrote, used, start = resident("VmRSS"), written(), time.process_time(), time.perf_counter()
    yield
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    added = max(0, resident("VmHWM") - before)
    print(json.dumps({"seconds": seconds, "processor": processor, "bytes": added, "written": written() - wrote}))
"""


@dataclass(frozen=True)
class Row:
    """Medians of one program over `runs` fresh processes."""

    what: str
    tool: str
    runs: int
    seconds: float
    low: float
    high: float
    bytes: float
    written: float  # bytes handed to the system for writing


def compare(what: str, programs: Mapping[str, str], *, runs: int = 9) -> list[Row]:
    """Runs the programs in turn, each `runs` times after one run that warms the page cache; prints a line for each."""
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in programs}
    for turn in range(runs + 1):
        for tool, code in programs.items():
            sample = run(code)
            if turn:
                samples[tool].append(sample)
    return [row(what, tool, timings) for tool, timings in samples.items()]


def run(code: str, settings: Mapping[str, str] | None = None) -> dict[str, float]:
    """Runs a program in a fresh process and returns the JSON of its last line; settings: environment variables."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | dict(
        settings or {}
    )
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, check=True, env=environment
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def row(what: str, tool: str, samples: Sequence[Mapping[str, float]]) -> Row:
    seconds = [s["seconds"] for s in samples]
    memory, wrote = (statistics.median(s.get(key, 0) for s in samples) for key in ("bytes", "written"))
    result = Row(
        what, tool, len(samples), statistics.median(seconds), min(seconds), max(seconds), memory, wrote
    )
    print(json.dumps({**asdict(result), "commit": commit(), "machine": machine()}), flush=True)
    return result


def commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=FOLDER, check=False
    )
    return done.stdout.strip()


def stamp() -> str:
    """Where and when a table was measured: a sentence for the page."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return f"Measured on {day} at {commit()}: {machine()}, BLAS threads: {threads}. Medians; tools in turn."


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":")[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"
