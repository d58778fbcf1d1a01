"""Extract a part of a model: the nodes that compute the given outputs from the given inputs.

sardonyx extract m.onnx --output features -o part.onnx
sardonyx extract m.onnx --input conv1_out --output logits -o head.onnx
sardonyx extract m.onnx --graph loop.body -o body.onnx

With --graph the part is taken from a nested graph or a function, which becomes the main graph of the result: values that a nested
graph captures become inputs, and a function has the types and attributes of its first call.
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, add_out, finish
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.summary import Json, port
from sardonyx._src.cli.verbs.show import add_graph
from sardonyx._src.tools.extract import extract
from sardonyx._src.tools.graph_labels import find_graph

HELP = "extract a part of a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--input",
        action="append",
        metavar="NAME",
        help="a value that becomes an input; may be repeated (default: the required inputs of the graph)",
    )
    parser.add_argument(
        "--output",
        action="append",
        metavar="NAME",
        help="a value that becomes an output; may be repeated (default: the outputs of the graph)",
    )
    add_graph(parser, "a part of another graph than the main one")
    add_out(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    with progress(1):
        part = extract(model, inputs=args.input, outputs=args.output, graph=args.graph)
    facts: dict[str, Json] = {
        "inputs": [port(v) for v in part.graph.inputs],
        "outputs": [port(v) for v in part.graph.outputs],
        "nodes": len(part.graph.nodes),
        "nodes_before": len((model.graph if args.graph is None else find_graph(model, args.graph)).nodes),
    }
    return finish(part, args, facts, notes=len(model.notes))
