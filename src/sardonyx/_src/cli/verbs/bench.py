"""Measure how long a model takes, beside other engines if they are installed.

sardonyx bench m.onnx
sardonyx bench m.onnx --dim N=8 --threads 1,2 --against onnxruntime,openvino
sardonyx bench m.onnx x=input.npy --turns 50 --json

All engines run in one process, in turn.  A ratio tells how many times as long as ours another engine takes.
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

from sardonyx._src.cli.feeds import read_feeds
from sardonyx._src.cli.peers import OURS, known
from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.random_feeds import random_feeds
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.streams import printable
from sardonyx._src.cli.summary import Json
from sardonyx._src.cli.timing import Timed, timed
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.save import save
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.types import shape_text
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.dims import Lengths
from sardonyx._src.runtime.feeds import checked
from sardonyx._src.runtime.session import Port

HELP = "measure how long a model takes"
TURNS = 15
LINE = "{:>7}  {:14}{:>13}  {:>26}{:>8}{:>13}"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "inputs", nargs="*", metavar="INPUT", help="values as `sardonyx run` takes them; others are random"
    )
    parser.add_argument(
        "--against", default="", metavar="A,B", help="other engines: onnxruntime, openvino, or both"
    )
    parser.add_argument(
        "--threads",
        default=str(os.cpu_count() or 1),
        metavar="N,M",
        help="how many threads each engine has (%(default)s)",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a dimension variable's length; others are 1",
    )
    parser.add_argument(
        "--turns", type=int, default=TURNS, metavar="N", help="how many turns every engine has (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON")


def run(args: argparse.Namespace) -> int:
    if args.turns < 1:
        raise InputError(f"--turns {args.turns}: at least one turn is needed", name="--turns")
    counts = [positive(word, f"--threads {args.threads}") for word in args.threads.split(",")]
    engines = [OURS, *(known(word) for word in args.against.split(",") if word)]
    model = load_model(args)
    feeds = made(model, args)
    steps = len(counts) * (args.turns + 1)
    with file_of(model, args) as path, progress(steps, "measuring", kernels=True) as advance:
        found = [one for n in counts for one in timed(path, engines, n, feeds, args.turns, advance)]
    sys.stdout.write(as_json(feeds, found) if args.json else as_text(feeds, found))
    return 0


def made(model: Model, args: argparse.Namespace) -> Mapping[str, RuntimeValue]:
    """What the model is fed: the values on the command line, and random ones."""
    ports = [Port(v.name, v.type, v.initializer is not None) for v in model.graph.inputs]
    given = read_feeds(args.inputs, ports)
    lengths = {}
    for word in args.dim:
        name, _, size = word.rpartition("=")
        lengths[name] = positive(size, f"--dim {word}", least=0)
    random = random_feeds(ports, given, args.seed, lengths)
    values = {**given, **{name: small(value) for name, value in random.items()}}
    return checked(values, model.graph.inputs, Lengths(model.ir_version))


def small(value: object) -> object:
    """A random value with integers of 0 and 1 only: they may be indices, and of a table of two."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value % 2
    return value


def positive(text: str, word: str, least: int = 1) -> int:
    if not text.isdecimal() or int(text) < least:
        raise InputError(f"{word}: {text!r} should be a number, and at least {least}", name=word)
    return int(text)


@contextmanager
def file_of(model: Model, args: argparse.Namespace) -> Iterator[str]:
    """A binary file of the model: its own, unless it came in another form or with more than that file says."""
    if args.model.endswith(".onnx") and args.policy == Policy.HUB.value and not args.operator_set:
        yield args.model
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        save(model, path)
        yield str(path)


# --- what is told ---------------------------------------------------------------------------


def ratios(found: Sequence[Timed]) -> list[float]:
    """How many times as long as ours each took on as many threads."""
    ours = {one.threads: one.median for one in found if one.engine == OURS}
    return [one.median / ours[one.threads] for one in found]


def as_text(feeds: Mapping[str, RuntimeValue], found: Sequence[Timed]) -> str:
    """The inputs, and a line for each engine on so many threads."""
    lines = [f"{printable(name)}: {kind(value)}" for name, value in feeds.items()]
    lines.append(LINE.format("threads", "engine", "median", "10 % to 90 %", "ratio", "difference"))
    for one, ratio in zip(found, ratios(found), strict=True):
        span = f"{one.quantile(0.1) * 1e3:.3f} to {one.quantile(0.9) * 1e3:.3f} ms"
        times = f"{one.median * 1e3:.3f} ms", span
        others = ("", "") if one.engine == OURS else (f"{ratio:.2f}", f"{one.difference:.1e}")
        lines.append(LINE.format(one.threads, one.engine, *times, *others).rstrip())
    return "\n".join(lines) + "\n"


def as_json(feeds: Mapping[str, RuntimeValue], found: Sequence[Timed]) -> str:
    """The inputs and measurements, times in seconds; a difference that is no number is null."""
    measured: list[Json] = [
        {
            "threads": one.threads,
            "engine": one.engine,
            "median": one.median,
            "low": one.quantile(0.1),
            "high": one.quantile(0.9),
            "best": one.best,
            "runs": len(one.runs),
            "ratio": ratio,
            "difference": one.difference if math.isfinite(one.difference) else None,
        }
        for one, ratio in zip(found, ratios(found), strict=True)
    ]
    told: dict[str, Json] = {name: kind(value) for name, value in feeds.items()}
    return json.dumps({"inputs": told, "measured": measured}, indent=1) + "\n"


def kind(value: RuntimeValue) -> str:
    if isinstance(value, np.ndarray):
        return f"{DataType.of(value.dtype).text}{shape_text(value.shape)}"
    return type(value).__name__
