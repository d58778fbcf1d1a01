"""Inline model-local functions: replace their calls by their bodies.

sardonyx inline m.onnx -o flat.onnx
sardonyx inline m.onnx --function pkg.torch.Gelu -o m2.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, add_out, finish
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.summary import Json
from sardonyx._src.ir.walk import nodes
from sardonyx._src.tools.inline import MOST_NODES, inline, is_unregistered

HELP = "inline model-local functions"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--function",
        action="append",
        metavar="DOMAIN.NAME",
        help="inline only this function; may be repeated; DOMAIN.NAME:OVERLOAD selects one overload",
    )
    parser.add_argument(
        "--lacking",
        action="store_true",
        help="inline only functions whose name is not that of a known operator",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=MOST_NODES,
        metavar="N",
        help="fail if the result would have more than N nodes (%(default)s)",
    )
    add_out(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    with progress(1):
        flat = inline(
            model, args.function, lacking=is_unregistered if args.lacking else None, limit=args.limit
        )
    facts: dict[str, Json] = {
        "functions": [function.label for function in flat.functions.values()],
        "functions_before": [function.label for function in model.functions.values()],
        "nodes": sum(1 for _ in nodes(flat.graph)),
        "nodes_before": sum(1 for _ in nodes(model.graph)),
    }
    return finish(flat, args, facts, notes=len(model.notes))
