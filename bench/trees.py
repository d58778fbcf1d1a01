"""How fast are ensembles of trees, compared with onnxruntime, the libraries that trained them, and lleaves?

All engines get the same rows of 64 float32 features; the forest is a classifier, the others are regressors.  Engines run
in turn in one process, each after the threads of the others have come to rest; lleaves runs in a process of its own, since
it needs an older llvmlite: `LLEAVES_PYTHON` is the Python that has it.  Times are medians of a call.  A ratio is the time
of the fastest peer over ours: above 1, Sardonyx is faster than all.  The second table has the seconds from a file to an
engine that is ready, in a new process without a cache.

The libraries are those of the group `bench-trees`; without them, this section stays as it is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np

from latency import header, line, ratio
from measure import commit, machine, run
from measured_cases import Fields, MeasuredCases
from sardonyx._src.measure.engines import OURS, open_engine
from sardonyx._src.measure.timing import interleave_calls
from sardonyx._src.runtime.session.session import Session
from tree_models import FOLDER, TREE_MODELS, TreeModel, has_libraries, random_rows

ROWS, THREADS = (1, 10, 1_000, 100_000), (1, 2)
ROUNDS, LONG_ROUNDS, MAX_SHORT_ROWS = (
    7,
    2,
    10_000,
)  # rounds of calls, and of calls with more rows than the last
ENGINES = (OURS, "onnxruntime", "library", "lleaves")
READY = """
start = time.perf_counter()
{statement}
print(json.dumps({{"ready": time.perf_counter() - start}}))
"""
OPENERS = {
    OURS: "import sardonyx; sardonyx.Session({path!r}, engine='native', threads=1)",
    "onnxruntime": "import onnxruntime; onnxruntime.InferenceSession({path!r})",
}
LLEAVES = """
import json, sys, time
import numpy as np
import lleaves
path, archive, threads, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
start = time.perf_counter()
model = lleaves.Model(model_file=path)
model.compile()
result = {"ready": time.perf_counter() - start}
for name, x in np.load(archive).items():
    calls = max(rounds, min(200, 20000 // len(x)))
    times = []
    for _ in range(calls + 1):
        start = time.perf_counter()
        model.predict(x, n_jobs=threads)
        times.append(time.perf_counter() - start)
    result[name] = times[1:]
print(json.dumps(result))
"""


@dataclass(frozen=True)
class TreeTiming:
    """Seconds of calls with a number of rows on a number of threads, by engine."""

    model: str
    rows: int
    threads: int
    runs: dict[str, Sequence[float]]

    @property
    def medians(self) -> dict[str, float]:
        return {engine: statistics.median(runs) for engine, runs in self.runs.items()}

    @property
    def ratio(self) -> float:
        """The time of the fastest peer over ours."""
        times = self.medians
        ours = times.pop(OURS)
        return min(times.values(), default=math.nan) / ours


def measure(
    names: Iterable[str],
    rows: Sequence[int] = ROWS,
    threads: Sequence[int] = THREADS,
    cases: MeasuredCases | None = None,
) -> list[TreeTiming]:
    """Measures every model, except for `cases`; prints a line for each number of rows and threads."""
    timings, cases = [], cases or MeasuredCases()
    for name in names:
        for count in threads:
            lleaves = cases.measure(
                ("lleaves", name, count, rows), partial(measure_lleaves, TREE_MODELS[name], rows, count)
            )
            if lleaves:
                READY_SECONDS[name, "lleaves"] = lleaves["ready"]
            for size in rows:
                case = partial(measure_fields, TREE_MODELS[name], size, count, lleaves.get(str(size)))
                timings.append(TreeTiming(**cases.measure(("trees", name, size, count), case)))
    return timings


def measure_fields(model: TreeModel, rows: int, threads: int, lleaves: Sequence[float] | None) -> Fields:
    return asdict(measure_case(model, rows, threads, lleaves))


def measure_case(model: TreeModel, rows: int, threads: int, lleaves: Sequence[float] | None) -> TreeTiming:
    x = random_rows(rows)
    feeds = {Session(model.path, engine="reference").inputs[0].name: x}
    library = model.library(threads)
    calls: dict[str, Callable[[], object]] = {"library": lambda: library(x)}
    for engine in (OURS, "onnxruntime"):
        run_model = open_engine(engine, str(model.path), threads)
        calls[engine] = lambda run_model=run_model: list(run_model(feeds))  # type: ignore[misc]  # binds the loop variable
    rounds = ROUNDS if rows <= MAX_SHORT_ROWS else LONG_ROUNDS
    runs: dict[str, Sequence[float]] = {**interleave_calls(calls, rounds, lambda: None)}
    if lleaves is not None:
        runs["lleaves"] = lleaves
    timing = TreeTiming(model.name, rows, threads, runs)
    facts = {"what": model.name, "rows": rows, "threads": threads, **timing.medians, "ratio": timing.ratio}
    print(json.dumps({**facts, "commit": commit(), "machine": machine()}), flush=True)
    return timing


def measure_lleaves(model: TreeModel, rows: Sequence[int], threads: int) -> Fields:
    """Seconds of calls of lleaves by the number of rows, and until it is "ready"; nothing for models that it does not read,
    or if it is missing."""
    python = os.environ.get("LLEAVES_PYTHON", "")
    if not python or not model.native_file:
        return {}
    with TemporaryDirectory() as folder:
        archive = f"{folder}/rows.npz"
        np.savez(archive, allow_pickle=False, **{str(n): random_rows(n) for n in rows})
        path = model.path.with_name(model.native_file)
        command = [python, "-c", LLEAVES, str(path), archive, str(threads), str(LONG_ROUNDS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: Fields = json.loads(done.stdout.splitlines()[-1])
    return result


READY_SECONDS: dict[tuple[str, str], float] = {}


def measure_starts(names: Iterable[str], cases: MeasuredCases | None = None) -> None:
    """Measures the seconds until engines are ready, in new processes without a cache."""
    cases = cases or MeasuredCases()
    for name in names:
        for engine, statement in OPENERS.items():
            code = READY.format(statement=statement.format(path=str(TREE_MODELS[name].path)))
            start = partial(run, code, {"SARDONYX_CACHE": ""})
            READY_SECONDS[name, engine] = cases.measure(("tree starts", name, engine), start)["ready"]


def section(timings: Sequence[TreeTiming] | None = None, cases: MeasuredCases | None = None) -> str | None:
    """The tables for docs/generated/benchmarks.md; None without the libraries.

    cases: those that are not measured again.
    """
    if timings is None:
        if not has_libraries():
            return None
        timings = measure(TREE_MODELS, cases=cases)
        measure_starts(TREE_MODELS, cases)
    return "\n\n".join([timing_table(timings), geometric_mean(timings), start_table()])


def timing_table(timings: Iterable[TreeTiming]) -> str:
    lines = [header("model", "rows", "threads", *(f"{engine}, ms" for engine in ENGINES), "ratio")]
    for timing in timings:
        columns = (f"{timing.medians[e] * 1e3:.3g}" if e in timing.runs else "" for e in ENGINES)
        lines.append(line(timing.model, f"{timing.rows:,}", timing.threads, *columns, ratio(timing.ratio)))
    return "\n".join(lines)


def geometric_mean(timings: Iterable[TreeTiming]) -> str:
    ratios = [timing.ratio for timing in timings if not math.isnan(timing.ratio)]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    return f"Geometric mean of {len(ratios)} ratios: {mean:.2f}; {sum(r > 1 for r in ratios)} of them are above 1."


def start_table() -> str:
    engines = [engine for engine in ENGINES if any(e == engine for _, e in READY_SECONDS)]
    lines = [header("model", *(f"{engine} ready, s" for engine in engines))]
    for name in TREE_MODELS:
        seconds = (READY_SECONDS.get((name, engine)) for engine in engines)
        lines.append(line(name, *("" if s is None else f"{s:.2f}" for s in seconds)))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default=",".join(TREE_MODELS), help="comma-separated names of models")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="numbers of rows (%(default)s)")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (%(default)s)")
    parser.add_argument(
        "--make", action="store_true", help=f"train and export missing models into {FOLDER}, no more"
    )
    args = parser.parse_args()
    names = args.only.split(",")
    if args.make:
        print(*(TREE_MODELS[name].path for name in names), sep="\n")
        return
    numbers = [[int(n) for n in text.split(",")] for text in (args.rows, args.threads)]
    rows, threads = numbers
    timings = measure(names, rows, threads)
    measure_starts(names)
    print(section(timings))


if __name__ == "__main__":
    main()
