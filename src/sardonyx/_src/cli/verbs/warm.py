"""Compile models into the disk cache, so that the first session of each starts as fast as later ones.

sardonyx warm models/
sardonyx warm models/ --cache /opt/sardonyx --target x86-64-v3
sardonyx warm m.onnx --sizes batch=1,length=128 --json

In a Dockerfile, after the models and Sardonyx are in the image; sessions find the programs if SARDONYX_CACHE names the
folder.  Folders are searched for files with the suffix .onnx.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from sardonyx._src.cli.inputs.arguments import parse_dims, parse_positive
from sardonyx._src.cli.inputs.precision import add_precision
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.measure.quantities import pluralize, quantity
from sardonyx._src.measure.warming import WarmedModel, model_files, warm

HELP = "compile models into the disk cache"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models", nargs="+", metavar="MODEL_OR_FOLDER", help="model files, and folders of them"
    )
    parser.add_argument(
        "--cache", metavar="FOLDER", help="the cache folder (SARDONYX_CACHE, or else the user's cache folder)"
    )
    parser.add_argument(
        "--target",
        metavar="CLASS",
        help="the class of the processors that will run the programs, as x86-64-v3 (that of this one)",
    )
    parser.add_argument(
        "--sizes",
        metavar="NAME=N,...",
        help="run each model with random inputs that have these lengths of dimension variables (others: the least that the operators accept), and cache "
        "what is compiled for such runs, too",
    )
    parser.add_argument("--threads", metavar="N", help="number of threads of the run (all cores)")
    add_precision(parser)
    add_json(parser, "what was done")


def run(args: argparse.Namespace) -> int:
    threads = None if args.threads is None else parse_positive(args.threads, "--threads")
    sizes = None if args.sizes is None else parse_dims([word for word in args.sizes.split(",") if word])
    paths = [*model_files(args.models)]
    with progress(len(paths), "compiling", sessions=True, is_quiet=args.json) as advance:
        results = warm(
            paths,
            cache=args.cache,
            target=args.target,
            threads=threads,
            sizes=sizes,
            precision=args.precision,
            advance=advance,
        )
    report(results, is_json=args.json)
    return 1 if any(result.problem for result in results) else 0


def report(results: Sequence[WarmedModel], *, is_json: bool) -> None:
    """Prints what was done for each model; problems go to standard error."""
    if is_json:
        sys.stdout.write(json.dumps([result.as_json() for result in results], indent=1) + "\n")
        return
    for result in results:
        if result.problem:
            sys.stderr.write(f"sardonyx: {printable(result.path)}: {printable(result.problem)}\n")
        else:
            sys.stdout.write(f"{printable(result.path)}: {summary(result)}\n")


def summary(result: WarmedModel) -> str:
    """What was done for a model, on one line."""
    if not result.compiled and not result.bytes_written:
        return f"nothing to do ({result.seconds:.2f} s)"
    kernels = f"{pluralize(result.kernels_compiled, 'kernel')} compiled, {result.kernels_found} found"
    return f"{kernels}, {quantity(result.bytes_written, 'B')} written ({result.seconds:.2f} s)"
