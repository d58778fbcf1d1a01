"""Move the weights of a model from external data files into the model file.

sardonyx internalise m.onnx -o single.onnx
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
from sardonyx._src.tools.externalise import PROTOBUF_LIMIT, internalise

HELP = "move weights from external data files into the model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("-o", "--out", required=True, type=Path, help="write the model to OUT")
    add_model_version(parser)
    parser.add_argument(
        "--limit",
        type=int,
        default=PROTOBUF_LIMIT,
        metavar="BYTES",
        help="fail if the model would exceed BYTES (default: 2 GiB, the limit of other tools)",
    )
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def run(args: argparse.Namespace) -> int:
    model = set_model_version(load_model(args), args)
    counts = Counter(locations(weights(model)))
    with progress(1):
        internalise(model, args.out, limit=args.limit)
    size = args.out.stat().st_size
    if args.json:
        files = [{"location": name, "tensors": count} for name, count in counts.items()]
        sys.stdout.write(json.dumps({"bytes": size, "files": files}, indent=1) + "\n")
    else:
        sys.stdout.write(f"{sum(counts.values())} tensors moved into the model: {quantity(size, 'B')}\n")
    return 0
