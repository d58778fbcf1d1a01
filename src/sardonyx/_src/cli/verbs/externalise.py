"""Move the weights of a model into external data files.

sardonyx externalise m.onnx -o out/m.onnx
sardonyx externalise m.onnx -o out/m.onnx --location weights.bin --threshold 65536
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_model_version, set_model_version
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.summary import locations, quantity, weights
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import load
from sardonyx._src.tools.externalise import externalise

HELP = "move weights into external data files"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("-o", "--out", required=True, type=Path, help="write the model to OUT")
    add_model_version(parser)
    parser.add_argument(
        "--location",
        metavar="NAME",
        help="data file, relative to the directory of OUT (default: OUT.data)",
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
        help="record the SHA-1 of each data file in the model (default: of those whose data come from a file with one)",
    )
    parser.add_argument("--json", action="store_true", help="print the data files as JSON")


def run(args: argparse.Namespace) -> int:
    if args.threshold < 0 or args.align < 1:
        what = f"--threshold must be >= 0 and --align >= 1; got {args.threshold} and {args.align}"
        raise InputError(what, name="--threshold")
    with progress(1):
        externalise(
            set_model_version(load_model(args), args),
            args.out,
            location=args.location,
            threshold=args.threshold,
            one_file_per_tensor=args.one_file_per_tensor,
            align=args.align,
            checksum=args.checksum,
        )
    counts = Counter(locations(weights(load(args.out))))
    sizes = {name: (args.out.parent / name).stat().st_size for name in counts}
    if args.json:
        files = [{"location": name, "tensors": counts[name], "bytes": sizes[name]} for name in counts]
        sys.stdout.write(json.dumps({"files": files}, indent=1) + "\n")
        return 0
    for name, count in counts.items():
        sys.stdout.write(f"{name}: {count} tensors, {quantity(sizes[name], 'B')}\n")
    if not counts:
        sys.stdout.write(f"no tensor has {args.threshold} bytes or more: all remain in the model\n")
    return 0
