"""How long fresh processes take from their start until the first result of a model, phase by phase."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import SardonyxError
from sardonyx._src.measure import start_process
from sardonyx._src.measure.start_process import ONNXRUNTIME, OURS, REST
from sardonyx._src.ops.api import RuntimeValue

EMPTY, FILLED, NONE = "empty", "filled", ""  # states of the cache
KINDS = ((OURS, EMPTY), (OURS, FILLED), (ONNXRUNTIME, NONE))
INTERPRETER, FIRST_RUN = "interpreter", "first run"
PREPARATION = "imports digests load prepare convert optimize infer".split()
COMPILATION = "partition layouts lower plan verify sizes weights kernels cache open".split()
PHASES = (INTERPRETER, *PREPARATION, *COMPILATION, REST, FIRST_RUN)  # in the order of a start


@dataclass(frozen=True, slots=True)
class StartTiming:
    """Medians of the starts of one kind.

    engine: `sardonyx` or another.  cache: "empty", "filled", or "" for engines without one.
    seconds: from the start of the process until the first result.
    phases: seconds of each phase that occurs, in the order of a start; their sum is about `seconds`.
    bytes: of resident memory at the peak; None where the system does not say.
    stage: of our session, "" for others.
    """

    engine: str
    cache: str
    seconds: float
    phases: Mapping[str, float]
    bytes: float | None
    stage: str


@dataclass(frozen=True, slots=True)
class Start:
    """One start: as `StartTiming`."""

    seconds: float
    phases: Mapping[str, float]
    bytes: int | None
    stage: str


def measure_starts(
    path: str,
    feeds: Mapping[str, RuntimeValue],
    threads: int,
    rounds: int,
    advance: Callable[[], None] = lambda: None,
) -> list[StartTiming]:
    """The starts of a model file with empty and filled cache, and those of onnxruntime if it is installed.

    Each kind of start has a process in every round, after one round that does not count: it reads the files once, and
    writes bytecode.  advance: called after each process.
    Raises SardonyxError for a model that an engine rejects.
    """
    kinds = [kind for kind in KINDS if kind[0] == OURS or importlib.util.find_spec(kind[0])]
    starts: dict[tuple[str, str], list[Start]] = {kind: [] for kind in kinds}
    with TemporaryDirectory() as folder:
        archive = Path(folder, "feeds")
        archive.write_bytes(pickle.dumps(dict(feeds)))
        for turn in range(rounds + 1):
            cache = str(Path(folder, f"cache {turn}"))
            for engine, state in kinds:
                start = start_engine(engine, path, archive, threads, cache)
                starts[engine, state] += [start] if turn else []
                advance()
    return [summarize(engine, state, starts[engine, state]) for engine, state in kinds]


def count_processes(rounds: int) -> int:
    """How often `measure_starts` calls `advance`."""
    return (rounds + 1) * sum(
        engine == OURS or importlib.util.find_spec(engine) is not None for engine, _ in KINDS
    )


def start_engine(engine: str, path: str, archive: Path, threads: int, cache: str) -> Start:
    """Starts an engine in a fresh process."""
    command = [sys.executable, start_process.__file__, engine, path, str(archive), str(threads)]
    source = str(Path(start_process.__file__).parents[3])
    search_path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"SARDONYX_CACHE": cache, "PYTHONPATH": search_path, "PYTHONSAFEPATH": "1"}
    begun = time.time()
    process = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise SardonyxError(f"{engine} must start in a process of its own; got {reason}")
    result = json.loads(process.stdout.splitlines()[-1])
    phases = {INTERPRETER: result["begun"] - begun, **result["phases"]}
    return Start(result["ended"] - begun, phases, result["bytes"], result["stage"])


def summarize(engine: str, cache: str, starts: Sequence[Start]) -> StartTiming:
    present = [name for name in PHASES if any(name in start.phases for start in starts)]
    unknown = {name for start in starts for name in start.phases} - set(PHASES)
    assert not unknown, f"PHASES must list {unknown}"
    peaks = [start.bytes for start in starts if start.bytes is not None]
    return StartTiming(
        engine,
        cache,
        statistics.median(start.seconds for start in starts),
        {name: statistics.median(start.phases.get(name, 0.0) for start in starts) for name in present},
        statistics.median(peaks) if peaks else None,
        starts[0].stage,
    )
