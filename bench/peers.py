"""The engines that are compared, and the start of one engine in a fresh process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from measure import run
from zoo.catalogue import ENTRIES

ENGINES = ("sardonyx", "onnxruntime", "openvino")
PROGRAM = """
import gc, importlib, resource
import numpy as np
from sardonyx._src.measure.engines import open_engine
engine, path, threads, archive = {engine!r}, {path!r}, {threads}, {archive!r}
importlib.import_module(engine)
with np.load(archive) as arrays:
    feeds = dict(arrays)
gc.collect()  # garbage of the imports
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")  # resets the peak
before, start = resident("VmRSS"), time.perf_counter()
call = open_engine(engine, path, threads)
ready = time.perf_counter()
list(call(feeds))
end = time.perf_counter()
print(json.dumps({{
    "ready": ready - start,
    "first": end - ready,
    "bytes": max(0, resident("VmHWM") - before),
    "workers": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
}}))
"""


def save_feeds(name: str, folder: Path) -> Path:
    """Saves the feeds of a network of the zoo to a file."""
    archive = folder / "feeds.npz"
    np.savez(archive, allow_pickle=False, **ENTRIES[name].feeds())
    return archive


def measure_start(
    name: str, engine: str, threads: int, feeds: Path, settings: Mapping[str, str] | None = None
) -> dict[str, float] | None:
    """Starts an engine in a fresh process: seconds until it is ready (`ready`) and of its first run (`first`), peak
    memory minus that of the imports (`bytes`), peak memory of its largest child process (`workers`).

    If the engine fails, prints a line with the reason and returns None.
    """
    code = PROGRAM.format(engine=engine, path=str(ENTRIES[name].path()), threads=threads, archive=str(feeds))
    try:
        return run(code, settings)
    except subprocess.CalledProcessError as error:
        why = (error.stderr.strip() or f"exit code {error.returncode}").splitlines()[-1]
        print(json.dumps({"what": name, "tool": engine, "threads": threads, "fails": why}), flush=True)
        return None


def can_run(name: str, engine: str, threads: int) -> bool:
    """Whether an engine runs a network, tried in a fresh process."""
    with TemporaryDirectory() as folder:
        return measure_start(name, engine, threads, save_feeds(name, Path(folder))) is not None
