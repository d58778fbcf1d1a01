"""Measure the latency of a model and, optionally, of other installed engines.

sardonyx bench m.onnx
sardonyx bench m.onnx --dim N=8 --threads 1,2 --against onnxruntime,openvino
sardonyx bench m.onnx x=input.npy --turns 50 --json
sardonyx bench m.onnx --start

All engines run in one process with interleaved calls.  The ratio is the median latency of an engine divided by
that of Sardonyx.  The difference is the largest difference of an output from that of Sardonyx, relative to the
largest output.

With --start, the time of a new process until its first result is measured instead, phase by phase: with an empty cache, with
the cache that this has filled, and with onnxruntime, if it is installed.  Each has a process in every round, after one
that does not count.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sardonyx._src.cli.inputs.arguments import OTHER_SIZES, parse_dims, parse_positive
from sardonyx._src.cli.inputs.feeds import read_feeds
from sardonyx._src.cli.inputs.models import add_model, load_model, operator_sets
from sardonyx._src.cli.inputs.precision import add_precision
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.random_inputs import sizes_reported
from sardonyx._src.cli.output.starts import starts_json, starts_text
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import Json
from sardonyx._src.compile.program import EXACT
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.loading.environment import environment_folders
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Model
from sardonyx._src.ir.types import shape_text
from sardonyx._src.measure.engines import OURS, require_engine
from sardonyx._src.measure.feeds import choose_feeds, ports_of
from sardonyx._src.measure.random_feeds import RandomFeeds
from sardonyx._src.measure.starts import count_processes, measure_starts
from sardonyx._src.measure.timing import EngineTiming, measure_engines
from sardonyx._src.ops.api import RuntimeValue

HELP = "measure the latency of a model"
DEFAULT_ROUNDS, DEFAULT_STARTS = 15, 3
ROW_FORMAT = "{:>7}  {:14}{:>13}  {:>26}{:>8}{:>13}"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="input values, as for `sardonyx run`; missing inputs are random",
    )
    parser.add_argument(
        "--against",
        default="",
        metavar="A,B",
        help="comma-separated engines to compare with: onnxruntime, openvino",
    )
    parser.add_argument(
        "--threads",
        metavar="N,M",
        help="comma-separated thread counts to measure (all cores)",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"length of a dimension variable, or of INPUT:AXIS; {OTHER_SIZES}",
    )
    parser.add_argument(
        "--turns",
        type=int,
        metavar="N",
        help=f"number of measurement rounds per engine ({DEFAULT_ROUNDS}; with --start, {DEFAULT_STARTS})",
    )
    parser.add_argument(
        "--start",
        action="store_true",
        help="measure the start of a process until the first result, phase by phase",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed for the random inputs (%(default)s)")
    add_precision(parser)
    add_json(parser, "the measurements")


def run(args: argparse.Namespace) -> int:
    rounds = (DEFAULT_STARTS if args.start else DEFAULT_ROUNDS) if args.turns is None else args.turns
    if rounds < 1:
        raise InputError(f"--turns must be >= 1; got {rounds}", name="--turns")
    counts = [
        parse_positive(word, "--threads") for word in (args.threads or str(os.cpu_count() or 1)).split(",")
    ]
    if args.start:
        return run_starts(args, counts, rounds)
    engines = [OURS, *(require_engine(word) for word in args.against.split(",") if word)]
    model = load_model(args)
    feeds, random = make_feeds(model, args)
    steps = len(counts) * (rounds + 1)
    with (
        file_of(model, args) as path,
        progress(steps, "measuring", sessions=True, is_quiet=args.json) as advance,
        sizes_reported(random),
    ):
        timings = [
            timing
            for n in counts
            for timing in measure_engines(path, engines, n, feeds, rounds, advance, precision=args.precision)
        ]
    sys.stdout.write(as_json(feeds, timings) if args.json else as_text(feeds, timings))
    return 0


def run_starts(args: argparse.Namespace, counts: Sequence[int], rounds: int) -> int:
    """Measures starts; raises InputError for options that concern latency only."""
    if len(counts) > 1 or args.against or args.precision != EXACT:
        what = "--start measures one number of threads, in float32, beside onnxruntime"
        raise InputError(
            f"{what}; leave out --against and --precision, and name one --threads", name="--start"
        )
    model = load_model(args)
    feeds, random = make_feeds(model, args)
    with (
        file_of(model, args) as path,
        progress(count_processes(rounds), "measuring", is_quiet=args.json) as advance,
        sizes_reported(random),
    ):
        timings = measure_starts(path, feeds, counts[0], rounds, advance)
    inputs = {name: kind(value) for name, value in feeds.items()}
    sys.stdout.write((starts_json if args.json else starts_text)(inputs, timings))
    return 0


def make_feeds(model: Model, args: argparse.Namespace) -> tuple[Mapping[str, RuntimeValue], RandomFeeds]:
    """The inputs of the model: the values on the command line, and random values for the others."""
    feeds = read_feeds(args.inputs, ports_of(model))
    return choose_feeds(model, feeds, args.seed, parse_dims(args.dim))


@contextmanager
def file_of(model: Model, args: argparse.Namespace) -> Iterator[str]:
    """A binary model file: the given one, or a temporary copy if it has another format or loading options apply."""
    sets = (*operator_sets(args), *environment_folders())
    is_default = args.policy == Policy.HUB.value and not sets and args.verify_checksums
    if args.model.endswith(".onnx") and is_default:
        yield args.model
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        save(model, path)
        yield str(path)


# --- output ----------------------------------------------------------------------------------


def ratios(timings: Sequence[EngineTiming]) -> list[float]:
    """The median of each timing relative to that of Sardonyx with the same number of threads."""
    ours = {timing.threads: timing.median for timing in timings if timing.engine == OURS}
    return [timing.median / ours[timing.threads] for timing in timings]


def as_text(feeds: Mapping[str, RuntimeValue], timings: Sequence[EngineTiming]) -> str:
    """The inputs, and a table row for each engine and thread count."""
    lines = [f"{printable(name)}: {kind(value)}" for name, value in feeds.items()]
    lines.append(
        ROW_FORMAT.format("threads", "engine", "median", "10th-90th percentile", "ratio", "difference")
    )
    for timing, ratio in zip(timings, ratios(timings), strict=True):
        span = f"{timing.quantile(0.1) * 1e3:.3f} to {timing.quantile(0.9) * 1e3:.3f} ms"
        times = f"{timing.median * 1e3:.3f} ms", span
        others = ("", "") if timing.engine == OURS else (f"{ratio:.2f}", f"{timing.difference:.1e}")
        lines.append(ROW_FORMAT.format(timing.threads, timing.engine, *times, *others).rstrip())
    return "\n".join(lines) + "\n"


def as_json(feeds: Mapping[str, RuntimeValue], timings: Sequence[EngineTiming]) -> str:
    """The inputs and measurements, with times in seconds; a difference that is not finite is null."""
    measured: list[Json] = [
        {
            "threads": timing.threads,
            "engine": timing.engine,
            "median": timing.median,
            "low": timing.quantile(0.1),
            "high": timing.quantile(0.9),
            "best": timing.best,
            "runs": len(timing.runs),
            "ratio": ratio,
            "difference": timing.difference if math.isfinite(timing.difference) else None,
        }
        for timing, ratio in zip(timings, ratios(timings), strict=True)
    ]
    inputs: dict[str, Json] = {name: kind(value) for name, value in feeds.items()}
    return json.dumps({"inputs": inputs, "measured": measured}, indent=1) + "\n"


def kind(value: RuntimeValue) -> str:
    if isinstance(value, np.ndarray):
        return f"{DataType.of(value.dtype).text}{shape_text(value.shape)}"
    return type(value).__name__
