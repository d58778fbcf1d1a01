"""Move a model's weights into a file beside it.

sardonyx externalise m.onnx -o out/m.onnx
sardonyx externalise m.onnx -o out/m.onnx --location weights.bin --threshold 65536
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.summary import locations, quantity, weights
from sardonyx._src.errors import InputError
from sardonyx._src.io.load import load
from sardonyx._src.rewrite.tools.externalise import externalise

HELP = "move weights into a file beside the model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("-o", "--out", required=True, type=Path, help="write the model to this file")
    parser.add_argument(
        "--location",
        metavar="NAME",
        help="the data file, relative to the model's directory (default: NAME.data)",
    )
    parser.add_argument(
        "--threshold",
        type=int,
        default=1024,
        metavar="BYTES",
        help="smaller tensors stay in the model (1024)",
    )
    parser.add_argument("--one-file-per-tensor", action="store_true", help="number the data files")
    parser.add_argument(
        "--align",
        type=int,
        default=4096,
        metavar="BYTES",
        help="where long tensors start: multiples of this (4096)",
    )
    parser.add_argument("--checksum", action="store_true", help="state the SHA-1 of each file in the model")
    parser.add_argument("--json", action="store_true", help="print the data files as JSON")


def run(args: argparse.Namespace) -> int:
    if args.threshold < 0 or args.align < 1:
        what = f"--threshold {args.threshold} --align {args.align}"
        raise InputError(f"{what}: the threshold is at least 0, the alignment at least 1", name="--threshold")
    with progress(1):
        externalise(
            load_model(args),
            args.out,
            location=args.location,
            threshold=args.threshold,
            one_file_per_tensor=args.one_file_per_tensor,
            align=args.align,
            checksum=args.checksum,
        )
    found = Counter(locations(weights(load(args.out))))
    sizes = {name: (args.out.parent / name).stat().st_size for name in found}
    if args.json:
        files = [{"location": name, "tensors": found[name], "bytes": sizes[name]} for name in found]
        sys.stdout.write(json.dumps({"files": files}, indent=1) + "\n")
        return 0
    for name, count in found.items():
        sys.stdout.write(f"{name}: {count} tensors, {quantity(sizes[name], 'B')}\n")
    if not found:
        sys.stdout.write(f"no tensor has {args.threshold} bytes: all stay in the model\n")
    return 0
