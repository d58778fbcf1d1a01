"""Move the weights of a model from external data files into the model file.

sardonyx internalise m.onnx -o single.onnx
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.destinations import add_output, report_to, report_written, write_file
from sardonyx._src.cli.output.models import add_json, add_model_version, set_model_version
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.summary import locations, weights
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.tools.externalise import PROTOBUF_LIMIT, internalise

HELP = "move weights from external data files into the model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_output(parser, help="write the model to FILE", required=True)
    add_model_version(parser)
    parser.add_argument(
        "--limit",
        type=int,
        default=PROTOBUF_LIMIT,
        metavar="BYTES",
        help="fail if the model would exceed BYTES (default: 2 GiB, the limit of other tools)",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    model = set_model_version(load_model(args), args)
    counts = Counter(locations(weights(model)))
    with progress(1):
        write_file(args.out, lambda path: internalise(model, path, limit=args.limit))
    if args.json:
        files = [{"location": name, "tensors": count} for name, count in counts.items()]
        facts = {"bytes": os.path.getsize(args.out), "files": files}
        sys.stdout.write(json.dumps(facts, indent=1) + "\n")
    else:
        report_to(args, f"{pluralize(sum(counts.values()), 'tensor')} moved into the model\n")
    report_written(args, args.out)
    return 0
