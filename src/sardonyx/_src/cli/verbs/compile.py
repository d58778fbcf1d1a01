"""Compile a model into a file that starts at once: native code for this machine, weights as it wants them.

sardonyx compile m.onnx -o m.sdx

The file runs as a model does: sx.Session("m.sdx").  It is for Linux, for processors that have what this one has, and
for this version of Sardonyx.  It holds code: run only files that come from somebody whom you would let run programs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.summary import quantity
from sardonyx._src.errors import InputError
from sardonyx._src.runtime.saving import save_compiled

HELP = "compile a model into a file that starts at once"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE.sdx", help="the file to write (the model's name)"
    )


def run(args: argparse.Namespace) -> int:
    if args.out is None and args.model == "-":
        raise InputError("a model from standard input has no name: add -o FILE.sdx", name="--out")
    out = Path(args.model).with_suffix(".sdx") if args.out is None else args.out
    model = load_model(args)
    with progress(1, "compiling", kernels=True):
        save_compiled(model, out)
    sys.stderr.write(f"{out}: {quantity(out.stat().st_size, 'B')}\n")
    return 0
