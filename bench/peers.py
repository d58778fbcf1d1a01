"""What does an engine need to begin with: how long until it is ready, how long for the first run, and how much memory?

Each in fresh processes with everything imported and the model's file in the system's cache.  Memory is what resident
memory at its peak is above what it was after the imports, weights that are mapped from the file included.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from measure import run
from zoo.catalogue import ENTRIES

ENGINES = ("sardonyx", "onnxruntime", "openvino")
PROGRAM = """
import importlib, sys
import numpy as np
from sardonyx.cli.peers import opened
engine, path, threads, archive = {engine!r}, {path!r}, {threads}, {archive!r}
importlib.import_module(engine)
with np.load(archive) as found:
    feeds = dict(found)
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")  # the peak starts anew
before, start = resident("VmRSS"), time.perf_counter()
call = opened(engine, path, threads)
ready = time.perf_counter()
list(call(feeds))
end = time.perf_counter()
print(json.dumps({{"ready": ready - start, "first": end - ready, "bytes": max(0, resident("VmHWM") - before)}}))
"""


@dataclass(frozen=True)
class Begun:
    """Medians over fresh processes: seconds until ready, seconds of the first run, bytes at the peak."""

    ready: float
    first: float
    bytes: float


def begun(name: str, engine: str, threads: int, runs: int) -> Begun | None:
    """How an engine begins with a network of the zoo; None, and a line that says why, where it does not."""
    entry = ENTRIES[name]
    with TemporaryDirectory() as folder:
        archive = str(Path(folder) / "feeds.npz")
        np.savez(archive, allow_pickle=False, **entry.feeds())
        code = PROGRAM.format(engine=engine, path=str(entry.path()), threads=threads, archive=archive)
        try:
            found = [run(code) for _ in range(runs)]
        except subprocess.CalledProcessError as error:
            why = (error.stderr.strip() or f"exit code {error.returncode}").splitlines()[-1]
            print(json.dumps({"what": name, "tool": engine, "threads": threads, "fails": why}), flush=True)
            return None
    return Begun(*(statistics.median(one[key] for one in found) for key in ("ready", "first", "bytes")))
