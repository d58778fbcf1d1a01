"""Run a model on inputs from files, literals or random numbers, and print or save its outputs.

sardonyx run m.onnx x=input.npy y='[1, 2]'
sardonyx run m.onnx inputs.npz -o outputs.npz
sardonyx run m.onnx test_data_set_0
sardonyx run m.onnx --random 0 --dim N=4
sardonyx run m.onnx --show steps
sardonyx run m.sdx x=input.npy
"""

from __future__ import annotations

import argparse
import difflib
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sardonyx._src.cli import results
from sardonyx._src.cli.feeds import read_feeds
from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.random_feeds import random_feeds
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.errors import InputError
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session import ENGINES, Session

HELP = "run a model"
STAGES = ("steps", "loops", "plan", "llvm")  # of `cli.stages`


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
        help="a dimension variable's length, in random inputs and in what --show prints",
    )
    parser.add_argument("--output", action="append", metavar="NAME", help="only this output; may be repeated")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="PATH",
        help="save to .npz, .npy, .json, .pb, or a folder of .pb files",
    )
    parser.add_argument("--engine", default="auto", choices=ENGINES, help="what runs the model")
    parser.add_argument(
        "--show",
        choices=STAGES,
        help="instead of running, print what the native engine makes of the model: its steps, their loops, the plan of its memory, the LLVM text of its kernels",
    )
    parser.add_argument(
        "--seed", type=int, help="makes random operators without a seed of their own repeatable"
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run N times and tell the latency")
    parser.add_argument("--json", action="store_true", help="print the outputs as JSON")


def run(args: argparse.Namespace) -> int:
    if args.show:
        from sardonyx._src.cli.stages import print_stage  # the compiler, which other engines do without

        print_stage(args.show, load_model(args), sizes(args.dim))
        return 0
    if args.dim and args.random is None:
        raise InputError("--dim gives random inputs their sizes: add --random SEED", name="--dim")
    if args.repeat < 1:
        raise InputError(f"--repeat {args.repeat}: at least one run is needed", name="--repeat")
    source = args.model if args.model.endswith(".sdx") else load_model(args)
    with progress(1, "compiling", kernels=True):
        session = Session(source, engine=args.engine, seed=args.seed)
    refuse_unknown(args.output or (), [port.name for port in session.outputs])
    feeds = read_feeds(args.inputs, session.inputs)
    if args.random is not None:
        feeds.update(random_feeds(session.inputs, feeds, args.random, sizes(args.dim)))
    with progress(args.repeat) as advance:
        outputs, seconds = timed(session, feeds, args.output, args.repeat, advance)
    report(outputs, seconds, args)
    return 0


def refuse_unknown(wanted: Sequence[str], names: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(map(repr, names))}"
            raise InputError(f"the model has no output {name!r}; {hint}", name=name)


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


def report(outputs: Mapping[str, RuntimeValue], seconds: Sequence[float], args: argparse.Namespace) -> None:
    if args.out is not None:
        results.save(outputs, args.out)
    if args.json:
        sys.stdout.write(results.json_text(outputs))
    elif args.out is None:
        for name, value in outputs.items():
            sys.stdout.write(results.printed(name, value) + "\n")
    if args.repeat > 1:
        median = statistics.median(seconds) * 1e3
        low, high = min(seconds) * 1e3, max(seconds) * 1e3
        sys.stderr.write(f"{args.repeat} runs: median {median:.3f} ms ({low:.3f} to {high:.3f})\n")
