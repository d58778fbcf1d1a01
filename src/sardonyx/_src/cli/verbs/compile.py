"""Compile a model ahead of time into a file that loads fast: native code and packed weights.

sardonyx compile m.onnx -o m.sdx
sardonyx compile m.onnx -o arm.sdx --target aarch64

The file is used like a model: sx.Session("m.sdx").  It requires Linux, a processor of the target's class (by default with
the features of this one) and this version of Sardonyx.  It contains executable code: run only files from sources that you trust.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.inputs.precision import add_precision
from sardonyx._src.cli.output.destinations import add_output, report_written, write_file
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.errors import InputError
from sardonyx._src.runtime.saved_programs.writing import save_compiled

HELP = "compile a model ahead of time"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_output(
        parser,
        suffixes=(".sdx",),
        metavar="FILE.sdx",
        help="write the program to FILE.sdx (default: the model's name with suffix .sdx)",
    )
    parser.add_argument(
        "--target",
        default="",
        metavar="CLASS",
        help="the class of the processors that will run the program, as aarch64 or x86-64-v3 (that of this one)",
    )
    add_precision(parser)
    add_json(parser, "a summary of the program")


def run(args: argparse.Namespace) -> int:
    if args.out is None and args.model == "-":
        raise InputError(
            "--out must be given for a model from standard input; got none; add -o FILE.sdx", name="--out"
        )
    model = load_model(args)  # before the path of the output is derived, so that a missing model is reported
    out = str(Path(args.model).with_suffix(".sdx")) if args.out is None else args.out
    with progress(1, "opening the model", sessions=True):
        write_file(out, lambda path: save_compiled(model, Path(path), args.precision, args.target))
    if args.json:
        sys.stdout.write(json.dumps({"path": out, "bytes": os.path.getsize(out)}, indent=1) + "\n")
    report_written(args, out)
    return 0
