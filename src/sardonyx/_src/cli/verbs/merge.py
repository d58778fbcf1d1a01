"""Connect two models: outputs of the first feed inputs of the second.

sardonyx merge preprocess.onnx classify.onnx -o both.onnx
sardonyx merge a.onnx b.onnx --map features=x --map mask=m -o both.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.summary import Json, port
from sardonyx._src.cli.targets import add_out, finish, load_second, words_in_pairs
from sardonyx._src.rewrite.tools.merge.merging import DEFAULT_PREFIX, merge

HELP = "connect two models"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("second", help="the model whose inputs are fed")
    parser.add_argument(
        "--map",
        action="append",
        metavar="OUTPUT=INPUT",
        help="an output of the first and the input of the second that it feeds; may be repeated; "
        "by default those of equal names, or the only ones",
    )
    parser.add_argument(
        "--prefix",
        default=DEFAULT_PREFIX,
        help="stands before names of the second that are taken (%(default)s)",
    )
    parser.add_argument(
        "--prefix-public", action="store_true", help="also before names of its inputs and outputs"
    )
    parser.add_argument("--keep-connected", action="store_true", help="connected outputs stay outputs")
    add_out(parser)


def run(args: argparse.Namespace) -> int:
    pairs = None if args.map is None else words_in_pairs(args.map, "--map")
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
