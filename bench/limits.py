"""How far from the limits of one core are networks, and by how much could they be faster than other engines?

The limit of a step is the longer of two times (the roofline model of Williams, Waterman and Patterson): its
floating-point operations at the peak rate of multiply-adds in registers, and the constants that it reads, which no cache
of the core holds from one run to the next, at the rate at which one core reads an array as large as all constants of the
network together.  The limit of a network is the sum over its steps.  It belongs to the algorithms of these steps: Winograd convolutions have fewer operations than direct ones, and more weights.
A small model whose constants do stay in the caches may be faster than its limit.

Networks, engines and peak rates are measured in turn; all are the best of the run, since the clock rate of a machine may
change meanwhile.  "At the limit" is the time of the faster peer over the limit: the ratio that kernels without any
loss would have.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import sardonyx as sx
import shared_models
from latency import header, line, ratio
from optimizing import MODELS
from peers import ENGINES, can_run
from sardonyx._src.compile.program import Step
from sardonyx._src.errors import SardonyxError
from sardonyx._src.measure.engines import OURS
from sardonyx._src.measure.timing import measure_engines
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.runs.profile import MachinePeak, TimedAction, measure_peaks, profile_program
from zoo.catalogue import ENTRIES, Feeds

ROUNDS = 9


@dataclass(frozen=True)
class Limits:
    """Seconds of one network on one thread: the limit, split by what bounds its steps, ours, and the faster peer's."""

    name: str
    operations: float  # of steps that are bound by operations
    reads: float  # of steps that are bound by reading constants
    ours: float
    peer: float

    @property
    def limit(self) -> float:
        return self.operations + self.reads


def measure(name: str, rounds: int = ROUNDS) -> Limits:
    """Measures a network of the zoo beside the peers that can run it."""
    entry = ENTRIES[name]
    engines = [engine for engine in ENGINES if can_run(name, engine, 1)]
    return measure_model(name, entry.path(), entry.feeds(), engines, rounds)


def measure_shared(name: str, rounds: int = ROUNDS) -> Limits | None:
    """Measures a shared model beside onnxruntime; None if one of the engines does not run it natively."""
    path = MODELS / name / "model.onnx"
    feeds = shared_models.feeds_of(path.parent)
    try:
        return measure_model(name, path, feeds, shared_models.ENGINES, rounds)
    except SardonyxError:
        return None


def measure_model(name: str, path: Path, feeds: Feeds, engines: Sequence[str], rounds: int) -> Limits:
    """Measures the engines, one of which is ours, and the peak rates in turn."""
    timed = profile_steps(path, feeds)
    measure_rates = partial(measure_peaks, sum(map(constant_bytes, timed)))
    peaks = [measure_rates()]
    timings = measure_engines(str(path), engines, 1, feeds, rounds, lambda: peaks.append(measure_rates()))
    best = {timing.engine: timing.best for timing in timings}
    ours = best.pop(OURS)
    operations, reads = step_limits(timed, best_peak(peaks))
    return Limits(name, operations, reads, ours, min(best.values(), default=math.nan))


def best_peak(peaks: Sequence[MachinePeak]) -> MachinePeak:
    return MachinePeak(
        max(p.flops for p in peaks), max(p.traffic for p in peaks), max(p.reads for p in peaks)
    )


def profile_steps(path: Path, feeds: Feeds) -> list[TimedAction]:
    """The actions of a network on one thread."""
    return profile_program(NativeEngine(sx.load(path), threads=1).native, feeds)[0]


def step_limits(timed: Iterable[TimedAction], peak: MachinePeak) -> tuple[float, float]:
    """The limits of all steps of a network: the sum over those bound by operations, and over the others."""
    operations = reads = 0.0
    for step in timed:
        computing, reading = step.flops / peak.flops, constant_bytes(step) / peak.reads
        if computing >= reading:
            operations += computing
        else:
            reads += reading
    return operations, reads


def constant_bytes(step: TimedAction) -> int:
    """The bytes that a step reads of constants, without those of symbolic size: of a table, only the rows that it takes."""
    if not isinstance(step.action, Step):
        return 0
    sizes = (view.nbytes for view in step.action.reads if view.buffer.role == "constant")
    return min(step.traffic, sum(size for size in sizes if isinstance(size, int)))


def table(rows: Iterable[Limits]) -> str:
    columns = (
        "limit, ms",
        "of it reads",
        "ours, ms",
        "of the limit",
        "faster peer, ms",
        "ratio",
        "at the limit",
    )
    return "\n".join([header("model", *columns), *(line(row.name, *cells(row)) for row in rows)])


def cells(row: Limits) -> list[str]:
    times = [f"{seconds * 1e3:.3g}" for seconds in (row.limit, row.ours, row.peer)]
    shares = [f"{row.reads / row.limit:.0%}", f"{row.limit / row.ours:.0%}"]
    return [
        times[0],
        shares[0],
        times[1],
        shares[1],
        times[2],
        ratio(row.peer / row.ours),
        ratio(row.peer / row.limit),
    ]


def section() -> str:
    """The tables for docs/generated/benchmarks.md: of the networks, and of the shared models if they are there."""
    shared = [measure_shared(name) for name in shared_models.model_names()]
    tables = [[measure(name) for name in ENTRIES], [row for row in shared if row is not None]]
    return join_tables(tables)


def join_tables(tables: Iterable[Sequence[Limits]]) -> str:
    return "\n\n".join(table(rows) for rows in tables if rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default=",".join(ENTRIES), help="comma-separated names of networks")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each engine (%(default)s)")
    args = parser.parse_args()
    print(table([measure(name, args.rounds) for name in args.only.split(",")]))


if __name__ == "__main__":
    main()
