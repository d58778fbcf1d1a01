"""Compare two models: structure, attributes, weights, metadata.

sardonyx diff a.onnx b.onnx
sardonyx diff a.onnx b.onnx --weights-tolerance 1e-6 --ignore name --ignore doc

Differences of the interface that break callers are marked: inputs or outputs that are removed, renamed or reordered,
required inputs that are added, inputs that accept fewer values than before or lose their default, and outputs that may have
another type or size.

Exit codes: 0 the models are equal, 1 they differ, 2 usage error, 3 they differ and callers break.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, load_second
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import weights
from sardonyx._src.errors import InputError
from sardonyx._src.tools.diff import DIFFERENCE_KINDS, Difference, diff

HELP = "compare two models"
EXIT_BREAKS = 3


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("other", help="model file to compare with")
    parser.add_argument(
        "--weights-tolerance",
        type=float,
        default=0.0,
        metavar="ERROR",
        help="treat weights as equal if no element differs by more than ERROR (%(default)s)",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        choices=DIFFERENCE_KINDS,
        help="ignore differences of this kind; may be repeated",
    )
    add_json(parser, "the differences")


def run(args: argparse.Namespace) -> int:
    if not args.weights_tolerance >= 0:
        what = f"--weights-tolerance must be >= 0; got {args.weights_tolerance}"
        raise InputError(what, name="--weights-tolerance")
    a = load_model(args)
    b = load_second(args, args.other)
    with progress(max(1, sum(1 for _ in weights(a)))) as advance:
        changes = diff(a, b, weights_tolerance=args.weights_tolerance, advance=advance)
    changes = [change for change in changes if change.kind not in args.ignore]
    report(changes, as_json=args.json)
    if any(change.breaks for change in changes):
        return EXIT_BREAKS
    return 1 if changes else 0


def report(changes: Iterable[Difference], *, as_json: bool) -> None:
    if as_json:
        listed = list(changes)
        breaks = any(change.breaks for change in listed)
        facts = {"breaks": breaks, "changes": [change.json() for change in listed]}
        sys.stdout.write(json.dumps(facts, indent=1) + "\n")
        return
    for change in changes:
        sys.stdout.write(printable(str(change)) + "\n")
