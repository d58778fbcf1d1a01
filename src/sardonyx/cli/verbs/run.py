"""Run a model on inputs from files, literals or random numbers, and print or save its outputs.

sardonyx run m.onnx x=input.npy y='[1, 2]'
sardonyx run m.onnx inputs.npz -o outputs.npz
sardonyx run m.onnx test_data_set_0
sardonyx run m.onnx --random 0 --dim N=4
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sardonyx.cli import results
from sardonyx.cli.feeds import random_feeds, read_feeds
from sardonyx.cli.sources import add_model, load_model
from sardonyx.errors import InputError
from sardonyx.ops.api import RuntimeValue
from sardonyx.runtime.session import Session

HELP = "run a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="NAME=VALUE (a .npy, .pb or .json file, or a literal), a .npz or .json of all inputs, or a folder of input_0.pb, …",
    )
    parser.add_argument(
        "--random", type=int, metavar="SEED", help="random values for all inputs that are not given"
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a dimension variable's length in random inputs",
    )
    parser.add_argument("--output", action="append", metavar="NAME", help="only this output; may be repeated")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="PATH", help="save to .npz, .npy, or a folder of .pb files"
    )
    parser.add_argument("--engine", default="auto", help="auto or reference")
    parser.add_argument(
        "--seed", type=int, help="makes random operators without a seed of their own repeatable"
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run N times and tell the latency")
    parser.add_argument("--json", action="store_true", help="print the outputs as JSON")


def run(args: argparse.Namespace) -> int:
    if args.repeat < 1:
        raise InputError(f"--repeat {args.repeat}: at least one run is needed", name="--repeat")
    session = Session(load_model(args), engine=args.engine, seed=args.seed)
    feeds = read_feeds(args.inputs, session.inputs)
    if args.random is not None:
        feeds.update(random_feeds(session.inputs, feeds, args.random, sizes(args.dim)))
    with progress(args.repeat) as advance:
        outputs, seconds = timed(session, feeds, args.output, args.repeat, advance)
    report(outputs, seconds, args)
    return 0


def sizes(words: Sequence[str]) -> Mapping[str, int]:
    result: dict[str, int] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not name or not number.isdigit():
            raise InputError(f"--dim {word}: NAME=N is wanted, as in --dim batch=4", name=word)
        result[name] = int(number)
    return result


def timed(
    session: Session,
    feeds: Mapping[str, object],
    wanted: Sequence[str] | None,
    repeat: int,
    advance: Callable[[], None],
) -> tuple[dict[str, RuntimeValue], list[float]]:
    """The outputs of the last run, and the seconds that each took."""
    seconds: list[float] = []
    outputs: dict[str, RuntimeValue] = {}
    for _ in range(repeat):
        start = time.perf_counter()
        outputs = session.run(feeds, wanted)
        seconds.append(time.perf_counter() - start)
        advance()
    return outputs, seconds


@contextmanager
def progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on the error stream for work of several runs, when somebody watches."""
    if total == 1 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("running", total=total)
        yield lambda: bar.advance(task)


def report(outputs: Mapping[str, RuntimeValue], seconds: Sequence[float], args: argparse.Namespace) -> None:
    if args.out is not None:
        results.save(outputs, args.out)
    if args.json:
        sys.stdout.write(json.dumps({name: results.as_json(v) for name, v in outputs.items()}) + "\n")
    elif args.out is None:
        for name, value in outputs.items():
            sys.stdout.write(results.printed(name, value) + "\n")
    if args.repeat > 1:
        median = statistics.median(seconds) * 1e3
        low, high = min(seconds) * 1e3, max(seconds) * 1e3
        sys.stderr.write(f"{args.repeat} runs: median {median:.3f} ms ({low:.3f} to {high:.3f})\n")
