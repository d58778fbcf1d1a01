"""How much slower than the next run is the first run of a session with an input length that it has not seen before?

Lengths are drawn at random without repetition.  Four runs at a new length are followed by two at the previous length: the
first run over the second is the cost of a new length, the third over the fourth is the control, and the fifth over the
sixth is the cost of returning to an earlier length.  The table gives medians over all lengths with the 10th and 90th
percentiles.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from latency import header, line
from measure import commit, machine
from sardonyx._src.ir import Array
from sardonyx._src.measure.engines import OURS, Run, open_engine
from sardonyx._src.measure.timing import wait_until_idle
from zoo.catalogue import ENTRIES, Entry, Feeds
from zoo.segmentation import unet

ENGINES = (OURS, "onnxruntime")
COUNT = 60  # lengths
ORDER = (
    0,
    1,
    1,
    1,
    1,
    0,
    0,
)  # of runs at the previous (0) and at the new (1) length; the first is not counted
SEED = 3
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Network:
    """A network with the range (inclusive) of each of its dimension variables."""

    entry: Entry
    lengths: Mapping[str, tuple[int, int]]

    def draw_feeds(self, count: int) -> Iterator[Feeds]:
        """Feeds of `count` distinct lengths."""
        generator, seen = np.random.default_rng(SEED), set[tuple[int, ...]]()
        while len(seen) < count:
            lengths = tuple(int(generator.integers(low, high + 1)) for low, high in self.lengths.values())
            if lengths not in seen:
                seen.add(lengths)
                yield replace(self.entry, sizes=dict(zip(self.lengths, lengths, strict=True))).feeds()


NETWORKS: dict[str, Network] = {
    "encoder, batch 1 to 4, 1 to 96 words": Network(
        ENTRIES["encoder_1x16"], {"batch": (1, 4), "sequence": (1, 96)}
    ),
    "U-Net, 16 to 128 pixels high and wide": Network(
        Entry("unet_any", lambda: unet("8*h", "8*w")), {"N": (1, 1), "h": (2, 16), "w": (2, 16)}
    ),
}


@dataclass(frozen=True)
class LengthTimings:
    """Times of the runs of one engine; seconds: [lengths, runs]."""

    what: str
    engine: str
    threads: int
    seconds: Array

    def ratio(self, run: int) -> Array:
        """Time of a run over that of the next run, for each length; runs count from 0."""
        return self.seconds[:, run] / self.seconds[:, run + 1]


def measure(names: Iterable[str], threads: Iterable[int], count: int = COUNT) -> Iterator[LengthTimings]:
    for name in names:
        feeds = list(NETWORKS[name].draw_feeds(count))
        for n in threads:
            runs = {engine: open_engine(engine, str(NETWORKS[name].entry.path()), n) for engine in ENGINES}
            for engine, seconds in interleave_engines(runs, feeds).items():
                timings = LengthTimings(name, engine, n, seconds)
                print_timings(timings)
                yield timings


def interleave_engines(runs: Mapping[str, Run], feeds: list[Feeds]) -> dict[str, Array]:
    """Seconds of every run by engine: [lengths - 1, runs]."""
    samples: dict[str, list[list[float]]] = {engine: [] for engine in runs}
    gc.collect()
    gc.disable()
    try:
        for pair in pairwise(feeds):
            for engine, run in runs.items():
                wait_until_idle()
                samples[engine].append([seconds(run, pair[which]) for which in ORDER])
    finally:
        gc.enable()
    return {engine: np.array(values)[:, 1:] for engine, values in samples.items()}


def seconds(run: Run, feeds: Feeds) -> float:
    start = time.perf_counter()
    list(run(feeds))
    return time.perf_counter() - start


def print_timings(timings: LengthTimings) -> None:
    facts = {
        "what": timings.what,
        "tool": timings.engine,
        "threads": timings.threads,
        "lengths": len(timings.seconds),
        "seconds": float(np.median(timings.seconds[:, 1])),
        "first": float(np.median(timings.ratio(0))),
        "control": float(np.median(timings.ratio(2))),
        "back": float(np.median(timings.ratio(4))),
        "commit": commit(),
        "machine": machine(),
    }
    print(json.dumps(facts), flush=True)


def section(results: Iterable[LengthTimings] | None = None) -> str:
    """The table for docs/generated/benchmarks.md."""
    ratios = ("first over second", "third over fourth", "fifth over sixth")
    lines = [header("network", "tool", "threads", "lengths", "second run, ms", *ratios)]
    for timings in measure(NETWORKS, [1, 2]) if results is None else results:
        median = f"{np.median(timings.seconds[:, 1]) * 1e3:.3g}"
        spreads = (spread_text(timings.ratio(run)) for run in (0, 2, 4))
        lines.append(
            line(timings.what, timings.engine, timings.threads, len(timings.seconds), median, *spreads)
        )
    return "\n".join(lines)


def spread_text(ratios: Array) -> str:
    low, median, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    return f"{median:.3f} ({low:.2f} to {high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (%(default)s)")
    parser.add_argument("--count", type=int, default=COUNT, help="lengths of each network (%(default)s)")
    args = parser.parse_args()
    print(section(measure(NETWORKS, [int(n) for n in args.threads.split(",")], args.count)))


if __name__ == "__main__":
    main()
