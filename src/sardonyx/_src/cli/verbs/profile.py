"""Profile a model: the time of each step of the native engine, and the total of each kernel.

sardonyx profile m.onnx
sardonyx profile m.onnx --dim N=8 --threads 2
sardonyx profile m.onnx x=input.npy --by step --json
sardonyx profile m.onnx --trace trace.json

A program with branches or ranks that are only known during a run is profiled after its specialization for the inputs.

The columns "of peak" are relative to the peak rates of one thread of this machine, measured at startup:
multiply-adds in registers, and memory copies.  Data in cache can exceed the peak of memory copies.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sardonyx._src.cli.inputs.arguments import OTHER_SIZES, parse_positive
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.inputs.precision import add_precision
from sardonyx._src.cli.output.destinations import add_output, report_to, report_written, write_file
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.random_inputs import sizes_reported
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.tables import format_table, line_width
from sardonyx._src.cli.verbs.bench import make_feeds
from sardonyx._src.measure.profiling import open_native, profile_engine
from sardonyx._src.measure.quantities import pluralize, quantity
from sardonyx._src.measure.time_shares import TimeShare
from sardonyx._src.runtime.programs.stats import SessionStats
from sardonyx._src.runtime.runs.profile import MachinePeak

HELP = "profile a model step by step"
COLUMNS = ("time", "share", "FLOP/s", "of peak", "B/s", "of peak", "kernel", "nodes")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="input values, as for `sardonyx run`; missing inputs are random",
    )
    parser.add_argument("--threads", default="1", metavar="N", help="number of threads (%(default)s)")
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"length of a dimension variable, or of INPUT:AXIS; {OTHER_SIZES}",
    )
    parser.add_argument(
        "--by",
        choices=("kernel", "step", "both"),
        default="both",
        help="print a table of kernels, of steps, or both (%(default)s)",
    )
    parser.add_argument(
        "--most", type=int, default=40, metavar="N", help="maximum number of rows per table (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed for the random inputs (%(default)s)")
    add_precision(parser)
    add_output(
        parser,
        "--trace",
        suffixes=(".json",),
        help="write the steps of a run as a Chrome trace, for Perfetto, to FILE",
    )
    add_json(parser, "the measurements")


def run(args: argparse.Namespace) -> int:
    threads = parse_positive(args.threads, "--threads")
    model = load_model(args)
    feeds, random = make_feeds(model, args)
    with progress(1, "opening the model", sessions=True, is_quiet=args.json):
        engine = open_native(model, threads, args.precision)
    with progress(1, "measuring"), sizes_reported(random):
        result = profile_engine(engine, feeds)
    peak, timed, whole = result.peak, result.actions, result.seconds
    groups = {"step": result.steps, "kernel": result.kernels}
    if args.trace is not None:
        write_file(args.trace, lambda path: Path(path).write_text(json.dumps(result.chrome_trace()), "utf-8"))
    chosen = {name: shares for name, shares in groups.items() if args.by in (name, "both")}
    if args.json:
        sys.stdout.write(as_json(chosen, peak, whole, engine.stats()))
        report_trace(args)
        return 0
    for name, shares in chosen.items():
        report_to(args, tabulate(f"by {name}", shares, peak, args.most))
    total = sum(step_share.seconds for step_share in groups["step"])
    report_to(
        args,
        f"all {pluralize(len(timed), 'step')}: {total * 1e3:.3f} ms timed separately, {whole * 1e3:.3f} ms in one run; "
        f"peak of one thread: {quantity(peak.flops, 'FLOP/s')}, {quantity(peak.traffic, 'B/s')}\n",
    )
    report_to(args, f"{describe_stats(engine.stats())}\n")
    if engine.assumptions:
        report_to(args, f"specialized: {engine.assumptions}\n")
    report_trace(args)
    return 0


def report_trace(args: argparse.Namespace) -> None:
    if args.trace is not None:
        report_written(args, args.trace)


def tabulate(title: str, shares: Sequence[TimeShare], peak: MachinePeak, limit: int) -> str:
    """A table, slowest first."""
    total = sum(row.seconds for row in shares)
    table = [cells(row, total, peak) for row in shares[:limit]]
    if len(shares) > limit:
        rest = sum(row.seconds for row in shares[limit:])
        more = f"{len(shares) - limit} more"
        table.append([f"{rest * 1e3:.3f} ms", share(rest, total), *[""] * 4, more, ""])
    return "".join(f"{line}\n" for line in (title, *format_table(COLUMNS, table, 6, line_width())))


def cells(row: TimeShare, total: float, peak: MachinePeak) -> list[str]:
    return [
        f"{row.seconds * 1e3:.3f} ms",
        share(row.seconds, total),
        quantity(row.rate(row.flops), "") if row.flops else "",
        share(row.rate(row.flops), peak.flops) if row.flops else "",
        quantity(row.rate(row.traffic), "") if row.traffic else "",
        share(row.rate(row.traffic), peak.traffic) if row.traffic else "",
        printable(row.kernel),
        printable(row.what),
    ]


def share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else ""


def describe_stats(stats: SessionStats) -> str:
    """The nodes that ran as reference kernels, in one line."""
    nodes = stats.fallback_nodes
    bailouts = ", ".join(f"{count} x {guard}" for guard, count in stats.bailouts.items())
    return f"{pluralize(nodes, 'fallback node')}; " + (f"bailouts: {bailouts}" if bailouts else "no bailouts")


def as_json(groups: dict[str, list[TimeShare]], peak: MachinePeak, whole: float, stats: SessionStats) -> str:
    """The measurements as JSON: seconds, and operations and bytes per second."""
    report = {
        "seconds": whole,
        "peak": {"flops": peak.flops, "bytes": peak.traffic},
        "fallback_nodes": stats.fallback_nodes,
        "bailouts": dict(stats.bailouts),
        **{f"by_{name}": [row.as_json(peak) for row in shares] for name, shares in groups.items()},
    }
    return json.dumps(report, indent=1) + "\n"
