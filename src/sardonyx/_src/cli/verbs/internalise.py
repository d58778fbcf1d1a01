"""Move a model's weights from files beside it into the model itself.

sardonyx internalise m.onnx -o single.onnx
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
from sardonyx._src.rewrite.tools.externalise import PROTOBUF_LIMIT, internalise

HELP = "move weights from files into the model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("-o", "--out", required=True, type=Path, help="write the model to this file")
    parser.add_argument(
        "--limit",
        type=int,
        default=PROTOBUF_LIMIT,
        metavar="BYTES",
        help="refuse a longer model (2 GiB, beyond which other tools read no file)",
    )
    parser.add_argument("--json", action="store_true", help="print what was taken in as JSON")


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    found = Counter(locations(weights(model)))
    with progress(1):
        internalise(model, args.out, limit=args.limit)
    size = args.out.stat().st_size
    if args.json:
        files = [{"location": name, "tensors": count} for name, count in found.items()]
        sys.stdout.write(json.dumps({"bytes": size, "files": files}, indent=1) + "\n")
    else:
        sys.stdout.write(f"{sum(found.values())} tensors taken in: {quantity(size, 'B')}\n")
    return 0
