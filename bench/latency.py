"""How long do networks take on one core and on two, beside onnxruntime and OpenVINO?

All engines run the same file on the same inputs in one process, in turn, with float32 arithmetic and otherwise their own
defaults (`sardonyx._src.cli.timing` says how).  Times are medians; a ratio is the time of the better peer over ours, so that
more than 1 is faster than both.  The difference is that of our outputs from onnxruntime's, relative to the largest.
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
from peers import ENGINES, survives
from sardonyx._src.cli.peers import OURS
from sardonyx._src.cli.timing import Timed, timed
from zoo.catalogue import ENTRIES

JUDGE = "onnxruntime"  # of outputs, if it is there


@dataclass(frozen=True)
class How:
    """How to measure: times are medians by the wall clock, unless the machine is busy with other things."""

    turns: int = 11
    least: bool = False  # the shortest run counts
    cpu: bool = False  # the processor's time counts: for one thread only, since it is the sum over threads

    def value(self, one: Timed) -> float:
        return one.best if self.least else one.median


@dataclass(frozen=True)
class Case:
    """One network on so many threads: what was measured, by engine; an engine that fails is missing."""

    name: str
    threads: int
    timed: dict[str, Timed]
    how: How

    @property
    def ratio(self) -> float:
        """The better peer's time over ours; NaN where one of them is missing."""
        found = {engine: self.how.value(one) for engine, one in self.timed.items()}
        ours = found.pop(OURS, math.nan)
        return min(found.values(), default=math.nan) / ours


def measured(names: Iterable[str], threads: Sequence[int], engines: Sequence[str], how: How) -> list[Case]:
    """Every network on every number of threads; prints a line for each engine.

    An engine that does not survive a process of its own has no turn with the others.
    """
    return [case(name, n, engines, how) for name in names for n in threads]


def case(name: str, threads: int, engines: Sequence[str], how: How) -> Case:
    alive = [engine for engine in engines if survives(name, engine, threads)]
    able = sorted(alive, key=lambda engine: engine != JUDGE)
    entry = ENTRIES[name]
    clock = time.process_time if how.cpu else time.perf_counter
    path, feeds = str(entry.path()), entry.feeds()
    found = timed(path, able, threads, feeds, how.turns, clock=clock) if able else []
    for each in found:
        tell(name, each)
    return Case(name, threads, {each.engine: each for each in found}, how)


def tell(name: str, one: Timed, **more: str) -> None:
    facts = {
        "what": name,
        **more,
        "tool": one.engine,
        "threads": one.threads,
        "runs": len(one.runs),
        "seconds": one.median,
        "best": one.best,
        "low": one.quantile(0.1),
        "high": one.quantile(0.9),
        "difference": one.difference if math.isfinite(one.difference) else str(one.difference),
        "commit": commit(),
        "machine": machine(),
    }
    print(json.dumps(facts), flush=True)


# --- tables ---------------------------------------------------------------------------------


def section(cases: Sequence[Case] | None = None, engines: Sequence[str] = ENGINES) -> str:
    """The table for docs/generated/benchmarks.md, and its means."""
    if cases is None:
        cases = measured(ENTRIES, [1, 2], engines, How())
    return "\n\n".join([times(cases, engines), means(cases)])


def times(cases: Iterable[Case], engines: Sequence[str]) -> str:
    """Milliseconds of a run: the median, and what 10 % and 90 % of the runs stay below; or else the least."""
    lines = [header("model", "threads", *(f"{engine}, ms" for engine in engines), "ratio", "difference")]
    for one in cases:
        ours = one.timed.get(OURS)
        off = "" if ours is None else f"{ours.difference:.1e}"
        columns = (spread(one.timed.get(engine), one.how) for engine in engines)
        lines.append(line(one.name, one.threads, *columns, ratio(one.ratio), off))
    return "\n".join(lines)


def spread(one: Timed | None, how: How) -> str:
    if one is None:
        return "fails"
    if how.least:
        return f"{one.best * 1e3:.3g}"
    median, low, high = (s * 1e3 for s in (one.median, one.quantile(0.1), one.quantile(0.9)))
    return f"{median:.3g} ({low:.3g} to {high:.3g})"


def ratio(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def means(cases: Sequence[Case]) -> str:
    """The geometric mean of the ratios for each number of threads."""
    parts = []
    for threads in sorted({one.threads for one in cases}):
        found = [one.ratio for one in cases if one.threads == threads and not math.isnan(one.ratio)]
        if found:
            mean = math.exp(statistics.fmean(map(math.log, found)))
            faster = sum(value > 1 for value in found)
            parts.append(f"{threads} threads: {mean:.3f} over {len(found)} models, {faster} of them above 1")
    return (
        f"Geometric means of the ratios: {'; '.join(parts)}."
        if parts
        else "No ratios: one engine is missing."
    )


def header(*columns: object) -> str:
    return f"{line(*columns)}\n|{'---|' * len(columns)}"


def line(*columns: object) -> str:
    return f"| {' | '.join(map(str, columns))} |"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default=",".join(ENTRIES), help="these networks, by commas")
    parser.add_argument("--threads", default="1,2", help="these numbers of threads (%(default)s)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="these engines (%(default)s)")
    parser.add_argument("--turns", type=int, default=How.turns, help="turns of each engine (%(default)s)")
    parser.add_argument("--least", action="store_true", help="ratios of the shortest runs, not of medians")
    parser.add_argument(
        "--cpu", action="store_true", help="the processor's time, which is right for one thread"
    )
    return parser.parse_args()


def main() -> None:
    args = arguments()
    engines, threads = args.engines.split(","), [int(n) for n in args.threads.split(",")]
    how = How(args.turns, args.least, args.cpu)
    print(section(measured(args.only.split(","), threads, engines, how), engines))


if __name__ == "__main__":
    main()
