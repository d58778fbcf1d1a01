"""Latency of the native engine in two source trees, side by side.

    python bench/commits.py BASE_SRC NEW_SRC [--threads 1,2] [--only NAME,...]

Each tree has its own process.  Both open the same model files and run them in alternating bursts: while one runs, the
other waits for its pipe.  A time is the median over the bursts of the median run of a burst; a ratio is the time of the
base over that of the new tree: above 1, the new tree is faster.  The range is that of the ratios of single rounds:
differences within it are noise.  Outputs are compared bit by bit.

The models are those of `zoo.catalogue`, made by the new tree if their files are missing, and the shared models.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from measure import machine

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "models"
BURST = 0.3  # seconds
MIN_RUNS, MAX_RUNS = 3, 100_000  # in a burst; the first run is not counted
ROUNDS = 7
PAUSE = 0.005  # seconds before a burst, in which the spinning threads of the other process go to sleep
SERVE = "--serve"  # makes this program a process of one tree
Reply = dict[str, Any]


@dataclass(frozen=True)
class Network:
    """A model file and the folder of its feeds, in the format of the shared models."""

    name: str
    path: Path
    feeds: Path


@dataclass(frozen=True)
class Row:
    """One network on a number of threads; times are seconds per run, one for each round.

    engines: those that ran it in the two trees; error: why a tree does not run it, and there are no times then.
    """

    name: str
    threads: int
    base: Sequence[float]
    new: Sequence[float]
    engines: str
    is_equal: bool
    error: str = ""

    @property
    def ratio(self) -> float:
        """The base's time over the new tree's; NaN without times."""
        return statistics.median(self.base) / statistics.median(self.new) if self.new else math.nan

    @property
    def rounds(self) -> list[float]:
        """The ratio of each round."""
        return [base / new for base, new in zip(self.base, self.new, strict=True)]


# --- the process of a tree ------------------------------------------------------------------


def serve(requests: IO[str], replies: IO[str]) -> None:
    """Answer requests, one JSON document per line: `open` opens a model, `burst` runs it for that number of seconds."""
    import sardonyx as sx

    run: Callable[[], object] = lambda: None  # noqa: E731
    gc.disable()
    for line in requests:
        request: Reply = json.loads(line)
        try:
            if "open" in request:
                run = lambda: None  # noqa: E731  # closes the session before
                gc.collect()
                run, reply = open_session(request["open"], Path(request["feeds"]), request["threads"])
            else:
                reply = {"seconds": burst(run, request["burst"])}
        except sx.SardonyxError as error:
            reply = {"error": " ".join(str(error).split())}
        print(json.dumps(reply), file=replies, flush=True)


def open_session(path: str, feeds_folder: Path, threads: int) -> tuple[Callable[[], object], Reply]:
    """A function that runs the model, after two runs, and the reply to the parent."""
    import sardonyx as sx

    session, feeds = sx.Session(path, threads=threads), read_feeds(feeds_folder)
    session.run(feeds)
    outputs = session.run(feeds)
    reply = {"engine": session.engine, "outputs": digest(outputs)}
    return lambda: session.run(feeds), reply


def burst(run: Callable[[], object], length: float) -> float:
    """The median of the seconds of the runs, without the first."""
    samples: list[float] = []
    clock = time.perf_counter
    end = clock() + length
    while len(samples) < MIN_RUNS or (clock() < end and len(samples) < MAX_RUNS):
        start = clock()
        run()
        samples.append(clock() - start)
    return statistics.median(samples[1:])


def read_feeds(folder: Path) -> dict[str, Any]:
    """The inputs in `ref.npz`, and those with strings in `ref.json`."""
    with np.load(folder / "ref.npz") as archive:
        values: dict[str, Any] = dict(archive)
    if (extra := folder / "ref.json").exists():
        values |= json.loads(extra.read_text())
    return {
        name.removeprefix("in:"): np.array(v["strings"], object).reshape(v["shape"])
        if isinstance(v, dict)
        else v
        for name, v in values.items()
        if name.startswith("in:")
    }


def digest(outputs: Mapping[str, object]) -> str:
    result = hashlib.sha256()
    for name, value in outputs.items():
        is_numeric = isinstance(value, np.ndarray) and value.dtype.kind != "O"
        result.update(name.encode() + (np.asarray(value).tobytes() if is_numeric else repr(value).encode()))
    return result.hexdigest()


# --- the parent -----------------------------------------------------------------------------


class Tree:
    """The process of a source tree."""

    def __init__(self, source: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def ask(self, **request: object) -> Reply:
        """Send a request and wait for its reply."""
        requests, replies = self.process.stdin, self.process.stdout
        assert requests is not None and replies is not None, "both are pipes"
        print(json.dumps(request), file=requests, flush=True)
        line = replies.readline()
        if not line:
            raise SystemExit(f"the process of a tree ended during {request}")
        reply: Reply = json.loads(line)
        return reply


def measure(network: Network, threads: int, base: Tree, new: Tree, rounds: int) -> Row:
    """One row: the bursts of the two trees alternate, and so does which of them is first."""
    request = {"open": str(network.path), "feeds": str(network.feeds), "threads": threads}
    open_engine = [tree.ask(**request) for tree in (base, new)]
    errors = [reply["error"] for reply in open_engine if "error" in reply]
    if errors:
        return Row(network.name, threads, [], [], "", False, errors[0])
    times: dict[Tree, list[float]] = {base: [], new: []}
    for index in range(rounds):
        for tree in (base, new) if index % 2 == 0 else (new, base):
            time.sleep(PAUSE)
            times[tree].append(tree.ask(burst=BURST)["seconds"])
    engines = "/".join(dict.fromkeys(reply["engine"] for reply in open_engine))
    is_equal = open_engine[0]["outputs"] == open_engine[1]["outputs"]
    return Row(network.name, threads, times[base], times[new], engines, is_equal)


def networks(only: Sequence[str], folder: Path) -> Iterator[Network]:
    """The networks of these names, or all of them; `folder` gets the feeds of those of the catalogue."""
    from zoo.catalogue import ENTRIES  # which imports the new tree

    for name, entry in ENTRIES.items():
        if not only or name in only:
            feeds = folder / name
            feeds.mkdir()
            np.savez(
                feeds / "ref.npz",
                allow_pickle=False,
                **{f"in:{key}": value for key, value in entry.feeds().items()},
            )
            yield Network(name, entry.path(), feeds)
    for path in sorted(SHARED.glob("*/model.onnx")):
        if not only or path.parent.name in only:
            yield Network(path.parent.name, path, path.parent)


def report(rows: Sequence[Row], sources: Sequence[Path]) -> None:
    """Print the table, the means, and everything as one line of JSON."""
    print(table(rows))
    means = {
        threads: mean(row.ratio for row in rows if row.threads == threads) for threads in thread_counts(rows)
    }
    print("\n" + "; ".join(f"{n} threads: geometric mean {value:.3f}" for n, value in means.items()) + "\n")
    facts = {
        "what": "base over new, native latency",
        "base": commit(sources[0]),
        "new": commit(sources[1]),
        "means": means,
        "machine": machine(),
        "rows": [{**asdict(row), "ratio": None if math.isnan(row.ratio) else row.ratio} for row in rows],
    }
    print(json.dumps(facts))


def thread_counts(rows: Iterable[Row]) -> list[int]:
    return sorted({row.threads for row in rows})


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean, without NaN."""
    values = [ratio for ratio in ratios if not math.isnan(ratio)]
    return statistics.geometric_mean(values) if values else math.nan


def table(rows: Iterable[Row]) -> str:
    lines = ["| model | engine | threads | base, ms | new, ms | ratio | range | outputs |", f"|{'---|' * 8}"]
    for row in rows:
        if row.error:
            lines.append(f"| {row.name} | | {row.threads} | {row.error} | | | | |")
            continue
        base, new = (f"{statistics.median(times) * 1e3:.4g}" for times in (row.base, row.new))
        spread = f"{min(row.rounds):.3f} to {max(row.rounds):.3f}"
        outputs = "equal" if row.is_equal else "differ"
        cells = [row.name, row.engines, row.threads, base, new, f"{row.ratio:.3f}", spread, outputs]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def commit(source: Path) -> str:
    """The commit of a tree, with a + if files of it have changed since, or its path."""
    git = ["git", "-C", str(source), "describe", "--always", "--exclude=*", "--dirty=+"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return done.stdout.strip() or str(source)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", type=Path, help="the folder of the base's package")
    parser.add_argument("new", type=Path, help="the folder of the new package")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (%(default)s)")
    parser.add_argument("--only", default="", help="comma-separated names of models; all by default")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="bursts of each tree (%(default)s)")
    options = parser.parse_args()
    sources = [options.base, options.new]
    sys.path.insert(0, str(options.new.resolve()))
    only = [name for name in options.only.split(",") if name]
    rows: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        base, new = (stack.enter_context(Tree(source)) for source in sources)
        for network in networks(only, folder):
            for threads in map(int, options.threads.split(",")):
                rows.append(row := measure(network, threads, base, new, options.rounds))
                print(f"{row.name}, {threads} threads: {row.error or f'{row.ratio:.3f}'}", file=sys.stderr)
    report(rows, sources)


if __name__ == "__main__":
    if sys.argv[1:] == [SERVE]:
        serve(sys.stdin, sys.stdout)
    else:
        main()
