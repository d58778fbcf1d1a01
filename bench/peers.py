"""The engines that are compared, and one start of one of them in a process of its own."""

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
from sardonyx._src.cli.peers import opened
engine, path, threads, archive = {engine!r}, {path!r}, {threads}, {archive!r}
importlib.import_module(engine)
with np.load(archive) as found:
    feeds = dict(found)
gc.collect()  # what imports have left
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")  # the peak starts anew
before, start = resident("VmRSS"), time.perf_counter()
call = opened(engine, path, threads)
ready = time.perf_counter()
list(call(feeds))
end = time.perf_counter()
print(json.dumps({{
    "ready": ready - start,
    "first": end - ready,
    "bytes": max(0, resident("VmHWM") - before),
    "children": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
}}))
"""


def archived(name: str, folder: Path) -> Path:
    """The feeds of a network of the zoo, in a file."""
    found = folder / "feeds.npz"
    np.savez(found, allow_pickle=False, **ENTRIES[name].feeds())
    return found


def started(
    name: str, engine: str, threads: int, feeds: Path, settings: Mapping[str, str] | None = None
) -> dict[str, float] | None:
    """Seconds until an engine is ready with a network (`ready`) and of its first run (`first`), the bytes that it has
    at its peak beside those of the imports, and those of its largest child; None, and a line that says why, where it fails.
    """
    code = PROGRAM.format(engine=engine, path=str(ENTRIES[name].path()), threads=threads, archive=str(feeds))
    try:
        return run(code, settings)
    except subprocess.CalledProcessError as error:
        why = (error.stderr.strip() or f"exit code {error.returncode}").splitlines()[-1]
        print(json.dumps({"what": name, "tool": engine, "threads": threads, "fails": why}), flush=True)
        return None


def survives(name: str, engine: str, threads: int) -> bool:
    """Whether an engine runs a network in a process of its own."""
    with TemporaryDirectory() as folder:
        return started(name, engine, threads, archived(name, Path(folder))) is not None
