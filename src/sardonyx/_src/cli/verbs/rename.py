"""Rename values, nodes, dimensions, functions and domains of a model.

sardonyx rename m.onnx --input x=image --output y=logits -o out.onnx
sardonyx rename m.onnx --dim N=batch --function old.pkg.Gelu=my.Gelu -o out.onnx
sardonyx rename m.onnx --regex --node 'model/(.*)=\\1' -o out.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.inputs.arguments import parse_mapping
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, add_out, finish
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.summary import Json, port
from sardonyx._src.tools.rename import Renaming, rename

HELP = "rename parts of a model"
RENAMED_KINDS = {
    "input": "an input",
    "output": "an output",
    "value": "a value of the graph, its subgraphs or training graphs",
    "node": "a node",
    "dim": "a dimension variable",
    "function": "a function (DOMAIN.NAME) and its calls",
    "domain": "a domain other than those of ONNX",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    for kind, what in RENAMED_KINDS.items():
        parser.add_argument(
            f"--{kind}",
            action="append",
            default=[],
            metavar="OLD=NEW",
            help=f"rename {what}; may be repeated",
        )
    parser.add_argument("--graph", default="", metavar="NAME", help="rename the graph to NAME")
    parser.add_argument(
        "--regex",
        action="store_true",
        help="match each OLD as a regular expression against whole names; NEW may refer to groups",
    )
    add_out(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    maps = {f"{kind}s": parse_mapping(getattr(args, kind), f"--{kind}") for kind in RENAMED_KINDS}
    model = load_model(args)
    with progress(1):
        renamed = rename(model, Renaming(**maps, graph=args.graph, regex=args.regex))
    facts: dict[str, Json] = {
        "graph": renamed.graph.name,
        "inputs": [port(v) for v in renamed.graph.inputs],
        "outputs": [port(v) for v in renamed.graph.outputs],
        "functions": [function.label for function in renamed.functions.values()],
    }
    return finish(renamed, args, facts, notes=len(model.notes))
