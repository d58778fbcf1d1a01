"""Make a model smaller and faster, and prove on generated inputs that it computes the same.

sardonyx optimize m.onnx -o small.onnx
sardonyx optimize m.onnx --dim batch=4
sardonyx optimize m.onnx --skip fuse-batch-norm --report -o small.onnx

Without -o it tells what it would do and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.streams import printable
from sardonyx._src.errors import InputError
from sardonyx._src.io.save import save
from sardonyx._src.rewrite.edit import GROWTH
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.rewrite.pages import names, page
from sardonyx._src.rewrite.report import OptimizationReport

HELP = "make a model smaller and faster"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("-o", "--out", type=Path, help="write the optimised model to this file")
    parser.add_argument("--no-verify", action="store_true", help="do not run the model before and after")
    parser.add_argument("--passes", metavar="A,B", help="only these passes, separated by commas")
    parser.add_argument(
        "--skip", action="append", default=[], metavar="A", help="leave these passes out; may be repeated"
    )
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop after N edits")
    parser.add_argument("--seconds", type=float, metavar="S", help="stop after so many seconds")
    parser.add_argument(
        "--growth",
        type=int,
        default=GROWTH,
        metavar="BYTES",
        help="how much larger constants that are computed beforehand may make the file (default: %(default)s)",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a dimension variable's length in the proof",
    )
    parser.add_argument("--debug", action="store_true", help="check the model's invariants after every edit")
    parser.add_argument("--report", action="store_true", help="print what each pass did, also with -o")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.epilog = "passes:\n" + "\n".join(f"  {name:26}{page(name).title}" for name in names())


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    report = OptimizationReport()
    with progress(1):
        result = optimize(
            model,
            passes=None if args.passes is None else words([args.passes]),
            skip=words(args.skip),
            verify=not args.no_verify,
            stop_after=args.stop_after,
            seconds=args.seconds,
            growth=args.growth,
            debug=args.debug,
            dims=sizes(args.dim),
            report=report,
        )
    if args.out is not None:
        save(result, args.out)
    if args.json:
        sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n")
    elif args.report or args.out is None:
        sys.stdout.writelines(f"{printable(line)}\n" for line in report.text().splitlines())
    if report.proved == 0 and not args.json:
        what = f"not provable with generated inputs: {report.unproved}"
        sys.stderr.write(f"sardonyx: {args.model}: {printable(what)}\n")
    return 0


def words(lists: Sequence[str]) -> list[str]:
    return [word for one in lists for word in one.split(",") if word]


def sizes(given: Sequence[str]) -> Mapping[str, int]:
    result: dict[str, int] = {}
    for word in given:
        name, _, number = word.rpartition("=")
        if not name or not number.isdigit():
            raise InputError(f"--dim {word}: NAME=N is wanted, as in --dim batch=4", name=word)
        result[name] = int(number)
    return result
