"""How long until an engine is ready, how long is the first run, and how much memory do both take?

Each start has a process of its own, with everything imported and the model's file in the system's cache; Sardonyx is
installed as users have it.  Ours are of three kinds: *cold*, with an empty cache folder; *kernels kept*, as behind
sessions of other models with the same kernels; *program kept*, behind a session of the same file.  Times are medians.
Memory is what resident memory at its peak is above what it was after the imports, pages mapped from files included;
behind a plus is that of the largest of the processes that compile for ours.  The last column is onnxruntime's time over
ours with the program kept: until ready, and until the first result.
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
from peers import archived, started
from sardonyx._src.cli.peers import OURS
from zoo.catalogue import ENTRIES

COLD, WARM, KEPT = "cold", "kernels kept", "program kept"
PEERS = ("onnxruntime", "openvino")
KINDS = (COLD, WARM, KEPT, *PEERS)
RUNS = 3


@dataclass(frozen=True)
class Begun:
    """Medians over fresh processes: seconds until ready, of the first run, and of both; bytes at the peak."""

    ready: float
    first: float
    both: float
    bytes: float
    children: float  # bytes of the largest of them

    @classmethod
    def of(cls, found: Sequence[Mapping[str, float]]) -> Begun:
        whole = [{**one, "both": one["ready"] + one["first"]} for one in found]
        names = ("ready", "first", "both", "bytes", "children")
        return cls(*(statistics.median(one[name] for one in whole) for name in names))


Starts = Mapping[str, Begun]  # by kind; those that fail are missing


def measured(names: Iterable[str], threads: int, runs: int = RUNS) -> dict[str, Starts]:
    """Every kind of start of every network; prints a line for each."""
    return {name: starts(name, threads, runs) for name in names}


def starts(name: str, threads: int, runs: int) -> Starts:
    BUILD.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=BUILD) as folder:
        feeds = archived(name, Path(folder))
        found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
        for _ in range(runs):
            for kind in KINDS:
                found[kind] += begun(name, kind, threads, feeds)
        return {kind: tell(name, kind, threads, each) for kind, each in found.items() if each}


def begun(name: str, kind: str, threads: int, feeds: Path) -> list[dict[str, float]]:
    """One start of a kind, which come in the order of `KINDS`; none where it fails."""
    kept = feeds.with_name("cache")
    gone = {COLD: kept, WARM: kept / "programs"}.get(kind)
    if gone is not None:
        shutil.rmtree(gone, ignore_errors=True)
    engine = kind if kind in PEERS else OURS
    settings = {"SARDONYX_CACHE": str(kept), "PYTHONPATH": str(installed())}
    found = started(name, engine, threads, feeds, settings)
    return [] if found is None else [found]


@cache
def installed() -> Path:
    """The folder of a copy that pip has installed as it does for users, who do not run a folder of sources."""
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
        target,
        FOLDER.parent,
    ]
    subprocess.run(command, check=True)
    return target


def tell(name: str, kind: str, threads: int, found: Sequence[Mapping[str, float]]) -> Begun:
    one = Begun.of(found)
    facts = {"what": name, "tool": kind, "threads": threads, "runs": len(found), **vars(one)}
    print(json.dumps({**facts, "commit": commit(), "machine": machine()}), flush=True)
    return one


def section(found: Mapping[str, Starts] | None = None) -> str:
    """The table for docs/generated/benchmarks.md."""
    if found is None:
        found = measured(files(), os.cpu_count() or 1)
    lines = [
        header("model", *(f"{kind}: ready, first run, memory" for kind in KINDS), "onnxruntime over ours")
    ]
    for name, each in found.items():
        lines.append(line(name, *(described(kind, each.get(kind)) for kind in KINDS), ratios(each)))
    return "\n".join(lines)


def files() -> list[str]:
    """One network for each file of the zoo."""
    return list({entry.file: name for name, entry in reversed(ENTRIES.items())}.values())[::-1]


def described(kind: str, one: Begun | None) -> str:
    if one is None:
        return "fails"
    beside = f" + {one.children / 1e6:.0f}" if one.children and kind not in PEERS else ""
    return f"{milliseconds(one.ready)}, {milliseconds(one.first)}, {one.bytes / 1e6:.0f}{beside} MB"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds * 1e3:.0f} ms"


def ratios(each: Starts) -> str:
    """How many times sooner ours is ready, and has the first result, than the peer that matters."""
    ours, theirs = each.get(KEPT), each.get(PEERS[0])
    if ours is None or theirs is None:
        return ""
    return f"{theirs.ready / ours.ready:.2f}, {theirs.both / ours.both:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default=",".join(files()), help="these networks, by commas")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (%(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, help="fresh processes of each kind (%(default)s)")
    args = parser.parse_args()
    print(section(measured(args.only.split(","), args.threads, args.runs)))


if __name__ == "__main__":
    main()
