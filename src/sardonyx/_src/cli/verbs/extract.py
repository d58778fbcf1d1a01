"""Make a model of a part of a model: what computes some values from others.

sardonyx extract m.onnx --output features -o part.onnx
sardonyx extract m.onnx --input conv1_out --output logits -o head.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.summary import Json, port
from sardonyx._src.cli.targets import add_out, finish
from sardonyx._src.rewrite.tools.extract import extract

HELP = "make a model of a part of a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--input",
        action="append",
        metavar="NAME",
        help="a value that the part is given; may be repeated; by default the inputs that it needs",
    )
    parser.add_argument(
        "--output",
        action="append",
        metavar="NAME",
        help="a value that the part computes; may be repeated; by default the model's outputs",
    )
    add_out(parser)


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    with progress(1):
        part = extract(model, inputs=args.input, outputs=args.output)
    facts: dict[str, Json] = {
        "inputs": [port(v) for v in part.graph.inputs],
        "outputs": [port(v) for v in part.graph.outputs],
        "nodes": len(part.graph.nodes),
        "nodes_before": len(model.graph.nodes),
    }
    return finish(part, args, facts, notes=len(model.notes))
