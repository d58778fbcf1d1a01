"""A process that starts an engine once: its program, and the clock of its phases.

    python start_process.py ENGINE MODEL FEEDS THREADS

FEEDS is a file of pickled feeds.  Prints one line of JSON: the times of the wall clock at which the program has begun
(`begun`), and had the first result (`ended`); the seconds of each phase; the bytes of memory at the peak, or null; and the
stage of the session.
"""

from __future__ import annotations

import importlib
import json
import pickle
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    Feeds = Mapping[str, Any]

OURS, ONNXRUNTIME = "sardonyx", "onnxruntime"
REST = "rest"  # the time of no phase


class PhaseClock:
    """Adds up the seconds of phases; a phase inside another one counts for itself alone.

    seconds: by the names of phases, in the order of their beginnings.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.stack = [REST]
        self.since = time.perf_counter()

    def enter(self, name: str) -> None:
        self.count()
        self.stack.append(name)

    def leave(self) -> None:
        self.count()
        self.stack.pop()

    def count(self) -> None:
        """Adds the time since the last change to the innermost phase."""
        now, name = time.perf_counter(), self.stack[-1]
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.since
        self.since = now

    def advance(self, done: int, total: int) -> None:
        """Part of `PhaseWatcher`: a clock counts no bytes."""


def time_imports(clock: PhaseClock) -> None:
    """Counts the import of each module as a phase, wherever it happens.

    CPython calls this function for modules that are not imported yet; without it, imports count for the phases in which
    they happen.
    """
    bootstrap: Any = importlib.import_module("importlib._bootstrap")
    find_and_load = getattr(bootstrap, "_find_and_load", None)
    if find_and_load is None:
        return

    def find_and_load_timed(name: str, import_: Callable[..., ModuleType]) -> ModuleType:
        clock.enter("imports")
        try:
            module: ModuleType = find_and_load(name, import_)
            return module
        finally:
            clock.leave()

    bootstrap._find_and_load = find_and_load_timed


def start_ours(clock: PhaseClock, path: str, feeds: Feeds, threads: int) -> str:
    """Opens a session and runs it once; returns its stage."""
    from sardonyx._src.phases import phase, watch_phases
    from sardonyx._src.runtime.session.session import Session  # and so all that the package imports

    with watch_phases(clock):
        session = Session(path, threads=threads, engine="native")
        with phase("first run"):
            session.run(feeds)
    return session.stats.stage


def start_onnxruntime(clock: PhaseClock, path: str, feeds: Feeds, threads: int) -> str:
    onnxruntime = importlib.import_module(ONNXRUNTIME)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    clock.enter("open")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    clock.leave()
    clock.enter("first run")
    session.run(None, feeds)
    clock.leave()
    return ""


def peak_bytes() -> int | None:
    """The peak of the resident memory of this process alone; None where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), None)


def main() -> None:
    begun = time.time()
    engine, path, archive, threads = sys.argv[1:]
    clock = PhaseClock()
    time_imports(clock)
    with open(archive, "rb") as file:
        feeds = pickle.load(file)  # written by the parent
    start = {OURS: start_ours, ONNXRUNTIME: start_onnxruntime}[engine]
    stage = start(clock, path, feeds, int(threads))
    clock.count()
    ended = time.time()
    result = {"begun": begun, "ended": ended, "phases": clock.seconds, "bytes": peak_bytes(), "stage": stage}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
