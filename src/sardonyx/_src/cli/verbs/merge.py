"""Merge two models: connect outputs of the first to inputs of the second.

sardonyx merge preprocess.onnx classify.onnx -o both.onnx
sardonyx merge a.onnx b.onnx --map features=x --map mask=m -o both.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.inputs.arguments import parse_pairs
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, add_out, finish, load_second
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.summary import Json, port
from sardonyx._src.tools.merge.models import DEFAULT_PREFIX, merge

HELP = "merge two models"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("second", help="model file whose inputs are connected")
    parser.add_argument(
        "--map",
        action="append",
        metavar="OUTPUT=INPUT",
        help="connect an output of the first model to an input of the second; may be repeated "
        "(default: those with equal names, or the only output and the only input)",
    )
    parser.add_argument(
        "--prefix",
        default=DEFAULT_PREFIX,
        help="prefix for names of the second model that conflict (%(default)s)",
    )
    parser.add_argument(
        "--prefix-public", action="store_true", help="also prefix names of its inputs and outputs"
    )
    parser.add_argument(
        "--keep-connected", action="store_true", help="keep connected outputs as outputs of the result"
    )
    add_out(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    pairs = None if args.map is None else parse_pairs(args.map, "--map")
    first = load_model(args)
    second = load_second(args, args.second)
    with progress(1):
        merged = merge(
            first,
            second,
            pairs,
            prefix=args.prefix,
            prefix_public=args.prefix_public,
            keep_connected=args.keep_connected,
        )
    facts: dict[str, Json] = {
        "inputs": [port(v) for v in merged.graph.inputs],
        "outputs": [port(v) for v in merged.graph.outputs],
        "nodes": len(merged.graph.nodes),
    }
    return finish(merged, args, facts, notes=len(first.notes))
