"""Judges networks in a process of its own, and keeps their verdicts: `python -m model_zoo.campaign`.

A network whose verdicts are stored, for its sources and the selection of variants, is not judged again.  A process that
dies is a fault of the network that it judged, and another one goes on with the next.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from model_zoo.catalogue import NETWORKS
from model_zoo.exports import folder_of
from model_zoo.judge import Verdict, judge, processor_seconds
from model_zoo.registry import Network
from model_zoo.selection import variants_of

FOLDER = Path(__file__).resolve().parents[1]


def verdicts_path(network: Network, *, every: bool) -> Path:
    return folder_of(network) / f"verdicts-{'every' if every else 'rotating'}.json"


def stored_verdicts(network: Network, *, every: bool) -> list[Verdict] | None:
    path = verdicts_path(network, every=every)
    return [Verdict(**fields) for fields in json.loads(path.read_text())] if path.exists() else None


def store(network: Network, verdicts: Sequence[Verdict], *, every: bool) -> None:
    text = json.dumps([asdict(verdict) for verdict in verdicts], indent=1)
    verdicts_path(network, every=every).write_text(text + "\n")


def judge_network(network: Network, *, every: bool) -> list[Verdict]:
    """The verdicts on all selected variants."""
    return [judge(network, variant) for variant in variants_of(network, every=every)]


def run_here(names: Sequence[str], *, every: bool) -> None:
    """Judges the networks, and stores what it finds; prints a line for each, and faults."""
    for name in names:
        start = processor_seconds()
        print(f"{name}: ", end="", flush=True)
        verdicts = judge_network(NETWORKS[name], every=every)
        store(NETWORKS[name], verdicts, every=every)
        judged = [verdict for verdict in verdicts if not verdict.missing]
        right = sum(not verdict.faults for verdict in judged)
        print(
            f"{right} of {len(judged)} right, {processor_seconds() - start:.1f} s of processors", flush=True
        )
        for verdict in verdicts:
            for fault in verdict.faults[:3]:
                print(f"    {verdict.variant}: {fault}", flush=True)


def run(names: Sequence[str], *, every: bool) -> None:
    """Judges the networks without stored verdicts in processes that may die."""
    options = ["--every"] if every else []
    while rest := [name for name in names if stored_verdicts(NETWORKS[name], every=every) is None]:
        command = [sys.executable, "-m", "model_zoo.campaign", "--here", *options, *rest]
        process = subprocess.run(command, cwd=FOLDER, check=False)
        left = [name for name in rest if stored_verdicts(NETWORKS[name], every=every) is None]
        if left:
            fault = f"the process ended with {process.returncode}"
            store(NETWORKS[left[0]], [Verdict("any", faults=[fault])], every=every)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(NETWORKS), help="networks; by default all")
    parser.add_argument("--every", action="store_true", help="all variants, not those of the rotation")
    parser.add_argument("--here", action="store_true", help="in this process, whatever is stored")
    args = parser.parse_args()
    (run_here if args.here else run)(args.names, every=args.every)


if __name__ == "__main__":
    main()
