"""Compile a model ahead of time: into a file that a session opens fast, or into a library for C.

sardonyx compile m.onnx -o m.sdx
sardonyx compile m.onnx -o arm.sdx --target aarch64
sardonyx compile m.onnx --emit static -o out/

A .sdx file is used like a model: sx.Session("m.sdx").  It requires Linux, a processor of the target's class (by default with
the features of this one) and this version of Sardonyx.  It contains executable code: run only files from sources that you trust.

A library is a header, model.h, and an object, an archive or a shared library that needs no other one.  Its sizes are numbers:
--dim fixes dimension variables, and --constant inputs that nodes read as parameters.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from sardonyx._src.cli.inputs.arguments import parse_dims
from sardonyx._src.cli.inputs.feeds import read_feeds
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.inputs.precision import add_precision
from sardonyx._src.cli.output.destinations import add_output, is_stream, report_written, write_file
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.errors import InputError
from sardonyx._src.export.formats import EMITS
from sardonyx._src.ir import Model
from sardonyx._src.runtime.saved_programs.writing import save_compiled
from sardonyx._src.runtime.session.session_values import SessionValue

HELP = "compile a model ahead of time"
PREFIX = "model"
OF_LIBRARIES = ("prefix", "weights_file", "dim", "constant")  # options


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_output(
        parser,
        suffixes=(".sdx", ""),
        folders=True,
        metavar="FILE.sdx|FOLDER",
        help="write the program to FILE.sdx (default: the model's name with suffix .sdx), or the library to FOLDER "
        "(default: the model's name without suffix)",
    )
    parser.add_argument(
        "--target",
        default="",
        metavar="CLASS",
        help="the class of the processors that will run the program, as aarch64 or x86-64-v3 (that of this one)",
    )
    parser.add_argument("--emit", choices=EMITS, help="write a library for C instead of a .sdx file")
    add_library_options(parser)
    add_precision(parser)
    add_json(parser, "a summary of the program")


def add_library_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prefix", metavar="NAME", help=f"prefix of the symbols and files of the library ({PREFIX})"
    )
    parser.add_argument(
        "--weights-file",
        action="store_true",
        help="weights are in a file of their own, which the caller maps, and not in the library",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="length of a dimension variable; may be repeated",
    )
    parser.add_argument(
        "--constant",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="make an input a constant of the library: a .npy, .pb or .json file, or a literal; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    if args.out is None and args.model == "-":
        what = f"-o {'FILE.sdx' if args.emit is None else 'FOLDER'}"
        raise InputError(
            f"--out must be given for a model from standard input; got none; add {what}", name="--out"
        )
    model = load_model(args)  # before the path of the output is derived, so that a missing model is reported
    return run_session_file(args, model) if args.emit is None else run_library(args, model)


def run_session_file(args: argparse.Namespace, model: Model) -> int:
    """Writes a .sdx file."""
    given = [f"--{name.replace('_', '-')}" for name in OF_LIBRARIES if getattr(args, name)]
    if given:
        raise InputError(f"{given[0]} requires --emit; got none; add --emit static", name=given[0])
    out = str(Path(args.model).with_suffix(".sdx")) if args.out is None else args.out
    if os.path.isdir(out) or (not is_stream(out) and Path(out).suffix != ".sdx"):
        raise InputError(f"--out must end in .sdx without --emit; got {out}", name="--out")
    with progress(1, "opening the model", sessions=True):
        write_file(out, lambda path: save_compiled(model, Path(path), args.precision, args.target))
    if args.json:
        sys.stdout.write(json.dumps({"path": out, "bytes": os.path.getsize(out)}, indent=1) + "\n")
    report_written(args, out)
    return 0


def run_library(args: argparse.Namespace, model: Model) -> int:
    """Writes a library."""
    from sardonyx._src.export.functions import compile_library  # lazy: a .sdx file needs none of it

    folder = str(Path(args.model).with_suffix("")) if args.out is None else args.out
    if (is_stream(folder) and not os.path.isdir(folder)) or Path(folder).suffix == ".sdx":
        raise InputError(f"--out must be a folder with --emit; got {folder}", name="--out")
    ports = [SessionValue(value.name, value.type) for value in model.graph.inputs]
    with progress(1, "compiling", sessions=True):
        library = compile_library(
            model,
            folder,
            emit=args.emit,
            prefix=args.prefix or PREFIX,
            weights_file=args.weights_file,
            processor=args.target or None,
            precision=args.precision,
            dims=parse_dims(args.dim),
            constants=read_feeds(args.constant, ports),
        )
    if args.json:
        summary = {
            "paths": [str(path) for path in library.paths],
            "arena_bytes": library.arena_bytes,
            "code_bytes": library.code_bytes,
            "data_bytes": library.data_bytes,
        }
        sys.stdout.write(json.dumps(summary, indent=1) + "\n")
    report_written(args, *map(str, library.paths))
    return 0
