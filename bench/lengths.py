"""How much longer does the first run at a length take that a session has never seen, than the second?

Lengths are drawn at random, and all of them are new.  Each has four runs, then the length before it has two: the first run
over the second is what a new length costs, the third over the fourth is the control, and the fifth over the sixth is what
it costs to come back to a length.  The table has medians over all lengths, and what 10 % and 90 % of them stay below.
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
from sardonyx._src.cli.peers import OURS, Run, opened
from sardonyx._src.cli.timing import settle
from sardonyx._src.ir.tensors import Array
from zoo.catalogue import ENTRIES, Entry, Feeds
from zoo.segmentation import unet

ENGINES = (OURS, "onnxruntime")
COUNT = 60  # lengths
ORDER = (0, 1, 1, 1, 1, 0, 0)  # of runs at the length before (0) and at the new one; the first does not count
SEED = 3
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Network:
    """A network, and the least and the greatest length that each of its variables has."""

    entry: Entry
    lengths: Mapping[str, tuple[int, int]]

    def drawn(self, count: int) -> Iterator[Feeds]:
        """Feeds of so many lengths, no two of them alike."""
        draw, seen = np.random.default_rng(SEED), set[tuple[int, ...]]()
        while len(seen) < count:
            found = tuple(int(draw.integers(low, high + 1)) for low, high in self.lengths.values())
            if found not in seen:
                seen.add(found)
                yield replace(self.entry, sizes=dict(zip(self.lengths, found, strict=True))).feeds()


NETWORKS: dict[str, Network] = {
    "encoder, batch 1 to 4, 1 to 96 words": Network(
        ENTRIES["encoder_1x16"], {"batch": (1, 4), "sequence": (1, 96)}
    ),
    "U-Net, 16 to 128 pixels high and wide": Network(
        Entry("unet_any", lambda: unet("8*h", "8*w")), {"N": (1, 1), "h": (2, 16), "w": (2, 16)}
    ),
}


@dataclass(frozen=True)
class Found:
    """Seconds of the runs of one engine [lengths, runs]."""

    what: str
    engine: str
    threads: int
    seconds: Array

    def ratio(self, run: int) -> Array:
        """A run over the next one, for each length; they count from 0."""
        return self.seconds[:, run] / self.seconds[:, run + 1]


def measured(names: Iterable[str], threads: Iterable[int], count: int = COUNT) -> Iterator[Found]:
    for name in names:
        fed = list(NETWORKS[name].drawn(count))
        for n in threads:
            runs = {engine: opened(engine, str(NETWORKS[name].entry.path()), n) for engine in ENGINES}
            for engine, seconds in in_turn(runs, fed).items():
                found = Found(name, engine, n, seconds)
                tell(found)
                yield found


def in_turn(runs: Mapping[str, Run], fed: list[Feeds]) -> dict[str, Array]:
    """Seconds of every run, by engine [lengths - 1, runs]."""
    found: dict[str, list[list[float]]] = {engine: [] for engine in runs}
    gc.collect()
    gc.disable()
    try:
        for pair in pairwise(fed):
            for engine, run in runs.items():
                settle()
                found[engine].append([seconds(run, pair[which]) for which in ORDER])
    finally:
        gc.enable()
    return {engine: np.array(each)[:, 1:] for engine, each in found.items()}


def seconds(run: Run, feeds: Feeds) -> float:
    start = time.perf_counter()
    list(run(feeds))
    return time.perf_counter() - start


def tell(one: Found) -> None:
    facts = {
        "what": one.what,
        "tool": one.engine,
        "threads": one.threads,
        "lengths": len(one.seconds),
        "seconds": float(np.median(one.seconds[:, 1])),
        "first": float(np.median(one.ratio(0))),
        "control": float(np.median(one.ratio(2))),
        "back": float(np.median(one.ratio(4))),
        "commit": commit(),
        "machine": machine(),
    }
    print(json.dumps(facts), flush=True)


def section(found: Iterable[Found] | None = None) -> str:
    """The table for docs/generated/benchmarks.md."""
    ratios = ("first over second", "third over fourth", "fifth over sixth")
    lines = [header("network", "tool", "threads", "lengths", "second run, ms", *ratios)]
    for one in measured(NETWORKS, [1, 2]) if found is None else found:
        median = f"{np.median(one.seconds[:, 1]) * 1e3:.3g}"
        spreads = (spread(one.ratio(run)) for run in (0, 2, 4))
        lines.append(line(one.what, one.engine, one.threads, len(one.seconds), median, *spreads))
    return "\n".join(lines)


def spread(ratios: Array) -> str:
    low, median, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    return f"{median:.3f} ({low:.2f} to {high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--threads", default="1,2", help="these numbers of threads (%(default)s)")
    parser.add_argument("--count", type=int, default=COUNT, help="lengths of each network (%(default)s)")
    args = parser.parse_args()
    print(section(measured(NETWORKS, [int(n) for n in args.threads.split(",")], args.count)))


if __name__ == "__main__":
    main()
