"""Infer the type and symbolic shape of every value; print them, or write them into the model.

sardonyx infer m.onnx
sardonyx infer m.onnx -o typed.onnx
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import groupby

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, add_out, set_model_version, write_model
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import Model, Value
from sardonyx._src.ir.walk import graph_path, graphs, roots, values

HELP = "infer types and symbolic shapes"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_out(parser, "the model with the inferred types", required=False)
    add_json(parser, "the types")


def run(args: argparse.Namespace) -> int:
    model = set_model_version(load_model(args), args)
    errors = infer_partially(model).errors
    if args.out is not None and not errors:
        write_model(model, args)
    if args.json:
        types = {path + v.name: str(v.type) if v.type else None for path, v in values_with_paths(model)}
        report = {"types": types, "contradictions": [str(e) for e in errors]}
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
    elif args.out is None or errors:
        print_types(model)
    for error in errors:
        sys.stderr.write(f"sardonyx: {args.model}: {printable(str(error))}\n")
    return 1 if errors else 0


def print_types(model: Model) -> None:
    """Prints one line per value; values of subgraphs and functions are indented under the path of their graph."""
    for path, entries in groupby(values_with_paths(model), key=lambda pair: pair[0]):
        if path:
            sys.stdout.write(f"{printable(path.removesuffix('.'))}:\n")
        for _, value in entries:
            line = printable(f"{value.name}: {value.type or '?'}")
            sys.stdout.write(f"{'  ' if path else ''}{line}\n")


def values_with_paths(model: Model) -> Iterator[tuple[str, Value]]:
    """Every value with the path of its graph, which is empty for the main graph."""
    for root in roots(model):
        for graph in graphs(root):
            path = graph_path(graph)
            yield from ((path, value) for value in values(graph))
