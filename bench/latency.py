"""How fast does the native engine run networks on one and on two cores, compared with onnxruntime and OpenVINO?

All engines run the same file on the same inputs in one process, in turn, with float32 arithmetic and otherwise their
defaults (see `sardonyx._src.measure.timing`).  Times are medians.  A ratio is the time of the faster peer over
ours: above 1, Sardonyx is faster than both.  The difference is the largest difference of our outputs from those of
onnxruntime, relative to the largest number of an output.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from measure import commit, machine
from peers import ENGINES, can_run
from sardonyx._src.measure.engines import OURS
from sardonyx._src.measure.timing import EngineTiming, measure_engines
from zoo.catalogue import ENTRIES

BUSY_NOTE = "The machine was busy with other work: times are the shortest runs instead, and ratios those of the shortest."
JUDGE = "onnxruntime"  # whose outputs are the reference, if it is installed


@dataclass(frozen=True)
class Method:
    """How times are measured and summarized; by default medians of wall-clock times.

    `least` and `cpu` are for machines that are busy with other work.
    """

    turns: int = 11
    least: bool = False  # the shortest run, not the median
    cpu: bool = False  # processor time, which is the sum over all threads: meaningful for one thread only

    def value(self, timing: EngineTiming) -> float:
        return timing.best if self.least else timing.median


MEDIANS = Method()


@dataclass(frozen=True)
class Case:
    """Timings of one network on a number of threads, by engine; engines that fail are missing."""

    name: str
    threads: int
    timed: dict[str, EngineTiming]
    method: Method

    @property
    def ratio(self) -> float:
        """The time of the faster peer over ours; NaN if either is missing."""
        times = {engine: self.method.value(timing) for engine, timing in self.timed.items()}
        ours = times.pop(OURS, math.nan)
        return min(times.values(), default=math.nan) / ours


def measure(
    names: Iterable[str], threads: Sequence[int], engines: Sequence[str], method: Method
) -> list[Case]:
    """Measures every network on every number of threads; prints a line for each engine.

    Engines that crash in a fresh process are left out.
    """
    return [measure_case(name, n, engines, method) for name in names for n in threads]


def measure_case(name: str, threads: int, engines: Sequence[str], method: Method) -> Case:
    alive = [engine for engine in engines if can_run(name, engine, threads)]
    supported = sorted(alive, key=lambda engine: engine != JUDGE)
    entry = ENTRIES[name]
    clock = time.process_time if method.cpu else time.perf_counter
    path, feeds = str(entry.path()), entry.feeds()
    timings = measure_engines(path, supported, threads, feeds, method.turns, clock=clock) if supported else []
    for timing in timings:
        print_timing(name, timing)
    return Case(name, threads, {timing.engine: timing for timing in timings}, method)


def print_timing(name: str, timing: EngineTiming, **more: str) -> None:
    facts = {
        "what": name,
        **more,
        "tool": timing.engine,
        "threads": timing.threads,
        "runs": len(timing.runs),
        "seconds": timing.median,
        "best": timing.best,
        "low": timing.quantile(0.1),
        "high": timing.quantile(0.9),
        "difference": timing.difference if math.isfinite(timing.difference) else str(timing.difference),
        "commit": commit(),
        "machine": machine(),
    }
    print(json.dumps(facts), flush=True)


# --- tables ---------------------------------------------------------------------------------


def section(
    cases: Sequence[Case] | None = None, engines: Sequence[str] = ENGINES, method: Method = MEDIANS
) -> str:
    """The table for docs/generated/benchmarks.md, and the geometric means of its ratios."""
    if cases is None:
        cases = measure(ENTRIES, [1, 2], engines, method)
    note = [BUSY_NOTE] if method.least else []
    return "\n\n".join([*note, timing_table(cases, engines), geometric_means(cases)])


def timing_table(cases: Iterable[Case], engines: Sequence[str]) -> str:
    """Milliseconds of a run: median with 10th and 90th percentile, or the minimum if the method says so."""
    lines = [header("model", "threads", *(f"{engine}, ms" for engine in engines), "ratio", "difference")]
    for case in cases:
        ours = case.timed.get(OURS)
        difference = "" if ours is None else f"{ours.difference:.1e}"
        columns = (spread_text(case.timed.get(engine), case.method) for engine in engines)
        lines.append(line(case.name, case.threads, *columns, ratio(case.ratio), difference))
    return "\n".join(lines)


def spread_text(timing: EngineTiming | None, method: Method) -> str:
    if timing is None:
        return "fails"
    if method.least:
        return f"{timing.best * 1e3:.3g}"
    median, low, high = (s * 1e3 for s in (timing.median, timing.quantile(0.1), timing.quantile(0.9)))
    return f"{median:.3g} ({low:.3g} to {high:.3g})"


def ratio(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def geometric_means(cases: Sequence[Case]) -> str:
    """The geometric mean of the ratios for each number of threads."""
    parts = []
    for threads in sorted({case.threads for case in cases}):
        ratios = [case.ratio for case in cases if case.threads == threads and not math.isnan(case.ratio)]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            faster = sum(value > 1 for value in ratios)
            parts.append(f"{threads} threads: {mean:.3f} over {len(ratios)} models, {faster} of them above 1")
    return (
        f"Geometric means of the ratios: {'; '.join(parts)}."
        if parts
        else "No ratios: one engine is missing."
    )


def header(*columns: object) -> str:
    return f"{line(*columns)}\n|{'---|' * len(columns)}"


def line(*columns: object) -> str:
    return f"| {' | '.join(map(str, columns))} |"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default=",".join(ENTRIES), help="comma-separated names of networks")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (%(default)s)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="comma-separated engines (%(default)s)")
    parser.add_argument("--turns", type=int, default=Method.turns, help="runs of each engine (%(default)s)")
    parser.add_argument("--least", action="store_true", help="compare the shortest runs, not the medians")
    parser.add_argument(
        "--cpu", action="store_true", help="measure processor time, not wall-clock time; for one thread"
    )
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    engines, threads = args.engines.split(","), [int(n) for n in args.threads.split(",")]
    method = Method(args.turns, args.least, args.cpu)
    print(section(measure(args.only.split(","), threads, engines, method), engines, method))


if __name__ == "__main__":
    main()
