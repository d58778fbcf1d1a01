"""Tell what is different between two models: structure, attributes, weights, metadata.

sardonyx diff a.onnx b.onnx
sardonyx diff a.onnx b.onnx --weights-tolerance 1e-6 --ignore name --ignore doc

Exit code 0: they say the same; 1: they differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.streams import printable
from sardonyx._src.cli.summary import weights
from sardonyx._src.cli.targets import load_second
from sardonyx._src.errors import InputError
from sardonyx._src.rewrite.tools.diff import KINDS, Change, diff

HELP = "tell what is different between two models"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("other", help="the model that it is compared with")
    parser.add_argument(
        "--weights-tolerance",
        type=float,
        default=0.0,
        metavar="ERROR",
        help="weights whose elements differ by no more than this are equal (0)",
    )
    parser.add_argument(
        "--ignore", action="append", default=[], choices=KINDS, help="leave out differences of this kind"
    )
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")


def run(args: argparse.Namespace) -> int:
    if not args.weights_tolerance >= 0:
        what = f"--weights-tolerance {args.weights_tolerance}: a number that is not negative is wanted"
        raise InputError(what, name="--weights-tolerance")
    a = load_model(args)
    b = load_second(args, args.other)
    with progress(max(1, sum(1 for _ in weights(a)))) as advance:
        found = diff(a, b, weights_tolerance=args.weights_tolerance, advance=advance)
    found = [change for change in found if change.kind not in args.ignore]
    report(found, as_json=args.json)
    return 1 if found else 0


def report(found: Iterable[Change], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"changes": [change.json() for change in found]}, indent=1) + "\n")
        return
    for change in found:
        sys.stdout.write(printable(str(change)) + "\n")
