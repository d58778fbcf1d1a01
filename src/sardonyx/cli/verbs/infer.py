"""Find the type and the symbolic shape of every value; print them, or write the model with them.

  sardonyx infer m.onnx
  sardonyx infer m.onnx -o typed.onnx
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from sardonyx.cli.sources import add_model, load_model
from sardonyx.errors import InferenceError
from sardonyx.infer.walk import infer
from sardonyx.io.save import save
from sardonyx.ir.graph import Model, Value
from sardonyx.ir.walk import graph_path, graphs, roots, values

HELP = "infer types and symbolic shapes"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("-o", "--out", type=Path, help="write the model with its types to this file")
    parser.add_argument("--json", action="store_true", help="print the types as JSON")


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    errors: list[InferenceError] = []
    infer(model, errors=errors)
    if args.out is not None and not errors:
        save(model, args.out)
    elif args.json:
        types = {path: str(value.type) if value.type else None for path, value in named(model)}
        sys.stdout.write(json.dumps({"types": types, "contradictions": [str(e) for e in errors]}, indent=1) + "\n")
    else:
        for path, value in named(model):
            sys.stdout.write(f"{path}: {value.type or '?'}\n")
    for error in errors:
        sys.stderr.write(f"sardonyx: {error}\n")
    return 1 if errors else 0


def named(model: Model) -> Iterator[tuple[str, Value]]:
    """Every value with its name, after the place of the graph that it belongs to."""
    names = {f.body: f"{f.domain}.{f.name}{':' + f.overload if f.overload else ''} " for f in model.functions.values()}
    for root in roots(model):
        for graph in graphs(root):
            prefix = names.get(root, "") + graph_path(graph)
            yield from ((prefix + value.name, value) for value in values(graph))
