"""Give values, nodes, dims, functions and domains of a model other names.

sardonyx rename m.onnx --input x=image --output y=logits -o out.onnx
sardonyx rename m.onnx --dim N=batch --function old.pkg.Gelu=my.Gelu -o out.onnx
sardonyx rename m.onnx --regex --node 'model/(.*)=\\1' -o out.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.summary import Json, port
from sardonyx._src.cli.targets import add_out, finish, pairs
from sardonyx._src.rewrite.tools.rename import Renaming, rename

HELP = "give parts of a model other names"
KINDS = {
    "input": "an input",
    "output": "an output",
    "value": "any value of the graph, its subgraphs and training graphs",
    "node": "a node",
    "dim": "a dimension variable",
    "function": "a function, as DOMAIN.NAME, and its calls",
    "domain": "a domain that is not ONNX's own",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    for kind, what in KINDS.items():
        parser.add_argument(
            f"--{kind}", action="append", default=[], metavar="OLD=NEW", help=f"{what}; may be repeated"
        )
    parser.add_argument("--graph", default="", metavar="NAME", help="the graph")
    parser.add_argument(
        "--regex",
        action="store_true",
        help="OLD are regular expressions for whole names, NEW may refer to groups",
    )
    add_out(parser)


def run(args: argparse.Namespace) -> int:
    maps = {f"{kind}s": pairs(getattr(args, kind), f"--{kind}") for kind in KINDS}
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
