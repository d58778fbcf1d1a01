"""Replace calls of a model's functions by the bodies that they call.

sardonyx inline m.onnx -o flat.onnx
sardonyx inline m.onnx --function pkg.torch.Gelu -o m2.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.summary import Json
from sardonyx._src.cli.targets import add_out, finish
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.tools.inline import MOST_NODES, inline, unregistered

HELP = "replace calls of functions by their bodies"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--function",
        action="append",
        metavar="DOMAIN.NAME",
        help="only calls of this function; may be repeated; DOMAIN.NAME:OVERLOAD names one overload",
    )
    parser.add_argument(
        "--lacking",
        action="store_true",
        help="only calls of functions for which there is no operator of that name",
    )
    parser.add_argument(
        "--limit", type=int, default=MOST_NODES, metavar="N", help="refuse a result of more than N nodes"
    )
    add_out(parser)


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    with progress(1):
        flat = inline(model, args.function, lacking=unregistered if args.lacking else None, limit=args.limit)
    facts: dict[str, Json] = {
        "functions": [function.label for function in flat.functions.values()],
        "functions_before": [function.label for function in model.functions.values()],
        "nodes": sum(1 for _ in nodes(flat.graph)),
        "nodes_before": sum(1 for _ in nodes(model.graph)),
    }
    return finish(flat, args, facts, notes=len(model.notes))
