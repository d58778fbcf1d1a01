"""How long does an engine take to become ready and to run for the first time, and how much memory does that need?

Each start has its own process, with everything imported and the model file in the page cache; Sardonyx is installed by
pip.  There are three kinds of starts of Sardonyx: *cold*, with an empty cache folder; *kernels kept*, with the kernels
cached, as after sessions of other models with the same kernels; *program kept*, with the whole program cached, as after
a session of the same file.  Times are medians.  Memory is the peak of resident memory minus that after the imports,
pages mapped from files included; the number after a plus is that of the largest compile worker.  The last column is
onnxruntime's time over that of Sardonyx with the program cached: until ready, and until the first result.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from latency import header, line
from measure import BUILD, FOLDER, commit, machine
from peers import measure_start, save_feeds
from sardonyx._src.measure.engines import OURS
from zoo.catalogue import ENTRIES

COLD, WARM, KEPT = "cold", "kernels kept", "program kept"
PEERS = ("onnxruntime", "openvino")
KINDS = (COLD, WARM, KEPT, *PEERS)
RUNS = 3


@dataclass(frozen=True)
class StartCost:
    """Medians over fresh processes: seconds until ready, of the first run, and of both; bytes at the peak."""

    ready: float
    first: float
    both: float
    bytes: float
    workers: float  # bytes of the largest compile worker

    @classmethod
    def of(cls, samples: Sequence[Mapping[str, float]]) -> StartCost:
        samples_with_total = [{**sample, "both": sample["ready"] + sample["first"]} for sample in samples]
        names = ("ready", "first", "both", "bytes", "workers")
        return cls(*(statistics.median(sample[name] for sample in samples_with_total) for name in names))


Starts = Mapping[str, StartCost]  # by kind; those that fail are missing


def measure(names: Iterable[str], threads: int, runs: int = RUNS) -> dict[str, Starts]:
    """The costs of every kind of start of every network; prints a line for each."""
    return {name: measure_starts(name, threads, runs) for name in names}


def measure_starts(name: str, threads: int, runs: int) -> Starts:
    BUILD.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=BUILD) as folder:
        feeds = save_feeds(name, Path(folder))
        samples: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
        for _ in range(runs):
            for kind in KINDS:
                samples[kind] += measure_kind(name, kind, threads, feeds)
        return {kind: print_cost(name, kind, threads, costs) for kind, costs in samples.items() if costs}


def measure_kind(name: str, kind: str, threads: int, feeds: Path) -> list[dict[str, float]]:
    """The sample of one start, or none if it fails.  Kinds must come in the order of `KINDS`: each leaves its cache."""
    cache_folder = feeds.with_name("cache")
    removed = {COLD: cache_folder, WARM: cache_folder / "programs"}.get(kind)
    if removed is not None:
        shutil.rmtree(removed, ignore_errors=True)
    engine = kind if kind in PEERS else OURS
    settings = {"SARDONYX_CACHE": str(cache_folder), "PYTHONPATH": str(install())}
    sample = measure_start(name, engine, threads, feeds, settings)
    return [] if sample is None else [sample]


@cache
def install() -> Path:
    """Installs the package with pip, as users do, and returns the folder of the copy."""
    target = BUILD / "installed"
    shutil.rmtree(target, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(target),
        str(FOLDER.parent),
    ]
    subprocess.run(command, check=True)
    return target


def print_cost(name: str, kind: str, threads: int, samples: Sequence[Mapping[str, float]]) -> StartCost:
    cost = StartCost.of(samples)
    facts = {"what": name, "tool": kind, "threads": threads, "runs": len(samples), **vars(cost)}
    print(json.dumps({**facts, "commit": commit(), "machine": machine()}), flush=True)
    return cost


def section(costs: Mapping[str, Starts] | None = None) -> str:
    """The table for docs/generated/benchmarks.md."""
    if costs is None:
        costs = measure(files(), os.cpu_count() or 1)
    lines = [
        header("model", *(f"{kind}: ready, first run, memory" for kind in KINDS), "onnxruntime over ours")
    ]
    for name, network_costs in costs.items():
        lines.append(
            line(name, *(cost_text(kind, network_costs.get(kind)) for kind in KINDS), ratios(network_costs))
        )
    return "\n".join(lines)


def files() -> list[str]:
    """One network for each file of the zoo."""
    return list({entry.file: name for name, entry in reversed(ENTRIES.items())}.values())[::-1]


def cost_text(kind: str, cost: StartCost | None) -> str:
    if cost is None:
        return "fails"
    helpers = f" + {cost.workers / 1e6:.0f}" if cost.workers and kind not in PEERS else ""
    return f"{milliseconds(cost.ready)}, {milliseconds(cost.first)}, {cost.bytes / 1e6:.0f}{helpers} MB"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds * 1e3:.0f} ms"


def ratios(costs: Starts) -> str:
    """onnxruntime's time over ours with the program cached: until ready, and until the first result."""
    ours, theirs = costs.get(KEPT), costs.get(PEERS[0])
    if ours is None or theirs is None:
        return ""
    return f"{theirs.ready / ours.ready:.2f}, {theirs.both / ours.both:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default=",".join(files()), help="comma-separated names of networks")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (%(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, help="fresh processes of each kind (%(default)s)")
    args = parser.parse_args()
    print(section(measure(args.only.split(","), args.threads, args.runs)))


if __name__ == "__main__":
    main()
