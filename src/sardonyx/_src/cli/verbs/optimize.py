"""Optimize a model, and verify on generated inputs that the outputs are the same.

sardonyx optimize m.onnx -o small.onnx
sardonyx optimize m.onnx --dim batch=4
sardonyx optimize m.onnx --skip fuse-batch-norm --report -o small.onnx

Without -o, prints a report of the changes and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from sardonyx._src.cli.inputs.arguments import parse_dims
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.destinations import report_to
from sardonyx._src.cli.output.models import add_json, add_out, set_model_version, write_model
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.rewrite.engine.edit import DEFAULT_GROWTH_BYTES
from sardonyx._src.rewrite.optimize import optimize_with_report
from sardonyx._src.rewrite.pages import names, page

HELP = "optimize a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_out(parser, "the optimized model", required=False)
    parser.add_argument(
        "--no-verify", action="store_true", help="do not verify the result by running both models"
    )
    parser.add_argument("--passes", metavar="A,B", help="run only these comma-separated passes")
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="A",
        help="skip these comma-separated passes; may be repeated",
    )
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop after N edits")
    parser.add_argument("--seconds", type=float, metavar="S", help="stop after S seconds")
    parser.add_argument(
        "--growth",
        type=int,
        default=DEFAULT_GROWTH_BYTES,
        metavar="BYTES",
        help="maximum growth of the file by folded constants (%(default)s)",
    )
    parser.add_argument(
        "--result-growth",
        type=int,
        metavar="BYTES",
        help="maximum growth of the file by one folded constant (a 64th of --growth)",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="length of a dimension variable in the verification; may be repeated",
    )
    parser.add_argument(
        "--debug", action="store_true", help="check the invariants of the model after every edit"
    )
    parser.add_argument("--report", action="store_true", help="print the report of each pass, with -o too")
    add_json(parser, "the report")
    width = max(map(len, names()))
    parser.epilog = "passes:\n" + "\n".join(f"  {name:{width}}  {page(name).title}" for name in names())


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    with progress(1):
        optimization = optimize_with_report(
            model,
            passes=None if args.passes is None else words([args.passes]),
            skip=words(args.skip),
            verify=not args.no_verify,
            stop_after=args.stop_after,
            seconds=args.seconds,
            growth=args.growth,
            result_growth=args.result_growth,
            debug=args.debug,
            dims=parse_dims(args.dim),
        )
    result, report = optimization.model, optimization.report
    set_model_version(result, args)
    if args.json:
        sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n")
    elif args.report or args.out is None:
        report_to(args, "".join(f"{printable(line)}\n" for line in report.text().splitlines()))
    if report.proved == 0 and not args.json:
        what = f"could not be verified with generated inputs: {report.unproved}"
        sys.stderr.write(f"sardonyx: {args.model}: {printable(what)}\n")
    if args.out is not None:
        write_model(result, args)
    return 0


def words(lists: Sequence[str]) -> list[str]:
    return [word for part in lists for word in part.split(",") if word]
