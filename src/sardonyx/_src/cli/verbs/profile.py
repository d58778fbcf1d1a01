"""Measure where the time of a model goes: the steps of the native engine, one by one.

sardonyx profile m.onnx
sardonyx profile m.onnx --dim N=8 --threads 2
sardonyx profile m.onnx x=input.npy --by step --json

Shares of the peak are of what one thread of this machine does at most, measured at the start: multiply-adds on
registers, and copies of memory.  What stays in a cache moves faster than that.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.shares import Share, by_kernel, by_step
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.streams import printable
from sardonyx._src.cli.summary import quantity
from sardonyx._src.cli.verbs.bench import made, positive
from sardonyx._src.runtime.engine import NativeEngine
from sardonyx._src.runtime.profile import Peak, peaks, profiled

HELP = "measure where the time of a model goes"
COLUMNS = ("time", "share", "FLOP/s", "of peak", "B/s", "of peak", "kernel", "nodes")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "inputs", nargs="*", metavar="INPUT", help="values as `sardonyx run` takes them; others are random"
    )
    parser.add_argument("--threads", default="1", metavar="N", help="how many threads (%(default)s)")
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a dimension variable's length; others are 1",
    )
    parser.add_argument(
        "--by",
        choices=("kernel", "step", "both"),
        default="both",
        help="what a line is of (%(default)s)",
    )
    parser.add_argument("--most", type=int, default=40, metavar="N", help="lines of a table (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON")


def run(args: argparse.Namespace) -> int:
    threads = positive(args.threads, f"--threads {args.threads}")
    model = load_model(args)
    feeds = made(model, args)
    with progress(1, "compiling", kernels=True):
        native = NativeEngine(model, threads=threads).native
    with progress(1, "measuring"):
        peak = peaks()
        timed, whole = profiled(native, feeds)
    groups = {"step": by_step(timed), "kernel": by_kernel(timed)}
    chosen = {name: found for name, found in groups.items() if args.by in (name, "both")}
    if args.json:
        sys.stdout.write(as_json(chosen, peak, whole))
        return 0
    for name, found in chosen.items():
        tabulate(f"by {name}", found, peak, args.most)
    total = sum(one.seconds for one in groups["step"])
    sys.stdout.write(
        f"all {len(timed)} steps: {total * 1e3:.3f} ms one by one, {whole * 1e3:.3f} ms in one run; "
        f"peak of a thread: {quantity(peak.flops, 'FLOP/s')}, {quantity(peak.traffic, 'B/s')}\n"
    )
    return 0


def tabulate(title: str, found: Sequence[Share], peak: Peak, most: int) -> None:
    """Prints a table, what takes longest first."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for i, column in enumerate(COLUMNS):
        table.add_column(column, justify="left" if i > 5 else "right", no_wrap=i < 7)
    total = sum(one.seconds for one in found)
    for one in found[:most]:
        table.add_row(*cells(one, total, peak))
    if len(found) > most:
        rest = sum(one.seconds for one in found[most:])
        table.add_row(f"{rest * 1e3:.3f} ms", share(rest, total), *[""] * 4, f"{len(found) - most} more")
    Console(file=sys.stdout, highlight=False, markup=False, width=None if sys.stdout.isatty() else 160).print(
        table
    )


def cells(one: Share, total: float, peak: Peak) -> list[str]:
    return [
        f"{one.seconds * 1e3:.3f} ms",
        share(one.seconds, total),
        quantity(one.rate(one.flops), "") if one.flops else "",
        share(one.rate(one.flops), peak.flops) if one.flops else "",
        quantity(one.rate(one.traffic), "") if one.traffic else "",
        share(one.rate(one.traffic), peak.traffic) if one.traffic else "",
        printable(one.kernel),
        printable(one.what),
    ]


def share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else ""


def as_json(groups: dict[str, list[Share]], peak: Peak, whole: float) -> str:
    """The measurements: seconds, operations and bytes a second."""
    found = {
        "seconds": whole,
        "peak": {"flops": peak.flops, "bytes": peak.traffic},
        **{f"by_{name}": [one.as_json(peak) for one in shares] for name, shares in groups.items()},
    }
    return json.dumps(found, indent=1) + "\n"
