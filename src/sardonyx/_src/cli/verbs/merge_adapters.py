"""Merge low-rank adapters into the weights that they adapt, which removes them.

sardonyx merge-adapters tuned.onnx -o merged.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, add_out, finish
from sardonyx._src.cli.output.summary import Json
from sardonyx._src.train.adapters import is_adapter, merge_adapters

HELP = "merge low-rank adapters into their weights"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_out(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    facts: dict[str, Json] = {"adapters": sum(map(is_adapter, model.graph.nodes))}
    return finish(merge_adapters(model), args, facts, notes=len(model.notes))
