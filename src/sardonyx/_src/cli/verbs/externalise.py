"""Move the weights of a model into external data files.

sardonyx externalise m.onnx -o out/m.onnx
sardonyx externalise m.onnx -o out/m.onnx --location weights.bin --threshold 65536
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.destinations import (
    add_output,
    create_parent,
    is_stream,
    open_stream,
    report_to,
    report_written,
)
from sardonyx._src.cli.output.models import add_json, add_model_version, set_model_version
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import locations, weights
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir import Model
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.tools.externalise import externalise

HELP = "move weights into external data files"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_output(parser, help="write the model to FILE", required=True)
    add_model_version(parser)
    parser.add_argument(
        "--location",
        metavar="NAME",
        help="data file, relative to the folder of FILE (default: FILE.data), or to the current folder with -o -",
    )
    parser.add_argument(
        "--threshold",
        type=int,
        default=1024,
        metavar="BYTES",
        help="keep tensors smaller than this in the model (%(default)s)",
    )
    parser.add_argument(
        "--one-file-per-tensor",
        action="store_true",
        help="write each tensor to a numbered data file of its own",
    )
    parser.add_argument(
        "--align",
        type=int,
        default=4096,
        metavar="BYTES",
        help="align tensors of at least this size to multiples of it (%(default)s)",
    )
    parser.add_argument(
        "--checksum",
        action="store_true",
        default=None,
        help="record the SHA-1 of each data file in the model (default: if the data come from a file with a recorded SHA-1)",
    )
    add_json(parser, "the data files")


def run(args: argparse.Namespace) -> int:
    if args.threshold < 0 or args.align < 1:
        what = f"--threshold must be >= 0 and --align >= 1; got {args.threshold} and {args.align}"
        raise InputError(what, name="--threshold")
    model = set_model_version(load_model(args), args)
    with progress(1):
        counts = write_to_stream(model, args) if is_stream(args.out) else write_files(model, args.out, args)
    folder = "" if is_stream(args.out) else os.path.dirname(args.out)
    sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in counts}
    if args.json:
        files = [{"location": name, "tensors": counts[name], "bytes": sizes[name]} for name in counts]
        sys.stdout.write(json.dumps({"files": files}, indent=1) + "\n")
    else:
        for name, count in counts.items():
            report_to(args, f"{printable(name)}: {pluralize(count, 'tensor')}\n")
        if not counts:
            report_to(args, f"no tensor has {args.threshold} bytes or more: all remain in the model\n")
    report_written(args, args.out, *(os.path.join(folder, name) for name in counts))
    return 0


def write_files(model: Model, path: str, args: argparse.Namespace) -> Mapping[str, int]:
    """Writes the model and its data files; returns the number of tensors by data file."""
    create_parent(path)
    externalise(
        model,
        path,
        location=args.location,
        threshold=args.threshold,
        one_file_per_tensor=args.one_file_per_tensor,
        align=args.align,
        checksum=args.checksum,
    )
    return Counter(locations(weights(load(path))))


def write_to_stream(model: Model, args: argparse.Namespace) -> Mapping[str, int]:
    """Writes the model to a stream, and its data files relative to the current folder."""
    if args.location is None:
        what = f"--location must name the data file if -o is {args.out}; got none; add --location NAME"
        raise InputError(what, name="--location")
    with tempfile.TemporaryDirectory(dir=os.curdir) as folder:
        path = os.path.join(folder, "model.onnx")
        counts = write_files(model, path, args)
        for name in counts:
            create_parent(name)
            os.replace(os.path.join(folder, name), name)
        with open(path, "rb") as file, open_stream(args.out) as stream:
            shutil.copyfileobj(file, stream)
    return counts
