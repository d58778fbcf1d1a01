"""Compile a model ahead of time into a file that loads fast: native code for this machine and packed weights.

sardonyx compile m.onnx -o m.sdx

The file runs as a model does: sx.Session("m.sdx").  It requires Linux, a processor with the features of this one and
this version of Sardonyx.  It contains executable code: run only files from sources that you trust.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.summary import quantity
from sardonyx._src.errors import InputError
from sardonyx._src.runtime.saved_programs.save import save_compiled

HELP = "compile a model ahead of time"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE.sdx",
        help="file to write (default: the model's name with suffix .sdx)",
    )


def run(args: argparse.Namespace) -> int:
    if args.out is None and args.model == "-":
        raise InputError(
            "--out must be given for a model from standard input; got none; add -o FILE.sdx", name="--out"
        )
    model = load_model(args)  # first: a path that names no file has no suffix to replace
    out = Path(args.model).with_suffix(".sdx") if args.out is None else args.out
    with progress(1, "compiling", kernels=True):
        save_compiled(model, out)
    sys.stderr.write(f"{out}: {quantity(out.stat().st_size, 'B')}\n")
    return 0
