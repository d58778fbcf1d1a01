"""Run two models, or one model on two engines, on the same inputs, and find the first value that differs.

sardonyx compare a.onnx b.onnx
sardonyx compare m.onnx --against onnxruntime
sardonyx compare m.onnx --engine native --against reference x=input.npy
sardonyx compare a.onnx b.onnx inputs.npz
sardonyx compare a.onnx b.onnx --dim N=8 --tolerance 1e-3 --json

The values whose names both models have are compared in the order of the first model; `*` marks values that differ.  If the
values do not fit into memory together, the first difference is found by bisection.

Exit codes: 0 the outputs agree, 1 they differ, 2 usage error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sardonyx._src.cli.inputs.arguments import OTHER_SIZES, parse_dims
from sardonyx._src.cli.inputs.feeds import read_feeds
from sardonyx._src.cli.inputs.limits import parse_size
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, load_second
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.random_inputs import sizes_reported
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.tables import format_table, line_width
from sardonyx._src.errors import InputError
from sardonyx._src.measure.compare.models import COLUMNS, DEFAULT_BYTES, compare, engine_names
from sardonyx._src.measure.engines import require_engine
from sardonyx._src.measure.feeds import choose_feeds, ports_of
from sardonyx._src.runtime.session.session_origin import ENGINES

HELP = "find the first value in which two models or engines differ"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "other",
        nargs="*",
        metavar="OTHER INPUT",
        help="the model file to compare with (default: the same model), and input values as for `sardonyx run`: NAME=VALUE, a .npz "
        "file or a directory; missing inputs are random",
    )
    parser.add_argument(
        "--against",
        metavar="ENGINE",
        help=f"the engine of the second run: {', '.join(engine_names())} (default: that of the first)",
    )
    parser.add_argument(
        "--engine", default="auto", metavar="ENGINE", help="the engine of the first run (%(default)s)"
    )
    parser.add_argument(
        "--feed",
        action="append",
        default=[],
        metavar="INPUT",
        help="input values, also a .json file with all inputs; may be repeated",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed for the random inputs (%(default)s)")
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"length of a dimension variable, or of INPUT:AXIS; {OTHER_SIZES}",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="ERROR",
        help="largest error relative to the largest element of a value (default: by element type)",
    )
    parser.add_argument(
        "--bytes",
        type=parse_size,
        default=DEFAULT_BYTES,
        metavar="SIZE",
        help=f"memory for the values of one run, with K, M, G or T ({DEFAULT_BYTES >> 30}G)",
    )
    parser.add_argument("--full", action="store_true", help="list all values, not only those that differ")
    add_json(parser, "the comparison")


def split_words(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The second model, and the words for inputs.  The first word is the second model, unless it names inputs."""
    if words and not is_input(words[0]):
        return words[0], list(words[1:])
    return None, list(words)


def is_input(word: str) -> bool:
    """Whether a word names inputs: NAME=VALUE, a .npz file or a directory."""
    path = Path(word)
    return path.is_dir() or path.suffix == ".npz" or ("=" in word and not path.exists())


def run(args: argparse.Namespace) -> int:
    for option, name in (("--engine", args.engine), ("--against", args.against or args.engine)):
        if name not in engine_names():
            what = f"{option} must be one of {', '.join(engine_names())}; got {name!r}"
            raise InputError(what, name=option)
        if name not in ENGINES:
            require_engine(name)
    other, inputs = split_words(args.other)
    if other is None and args.against is None:
        raise InputError("compare requires a second model or --against; got neither", name="--against")
    first = load_model(args)
    second = None if other is None else load_second(args, other)
    given = read_feeds([*inputs, *args.feed], ports_of(first))
    feeds, random = choose_feeds(first, given, args.seed, parse_dims(args.dim))
    with progress(1, "comparing", sessions=True, is_quiet=args.json), sizes_reported(random):
        result = compare(
            first,
            second,
            feeds,
            engine=args.engine,
            against=args.against,
            tolerance=args.tolerance,
            bytes=args.bytes,
        )
    if args.json:
        sys.stdout.write(json.dumps(result.as_json(), indent=1) + "\n")
    else:
        rows = [row for row in result.rows() if args.full or row[0].startswith("*")]
        table = format_table(COLUMNS, rows, 4, line_width()) if rows else ()
        lines = [*table, *result.summary()]
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    return 0 if result.ok else 1
