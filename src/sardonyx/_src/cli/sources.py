"""The arguments that most verbs share: the model, and how it may be loaded."""

from __future__ import annotations

import argparse

from sardonyx._src.cli.streams import standard_input
from sardonyx._src.io.external import Policy
from sardonyx._src.io.load import load
from sardonyx._src.ir.graph import Model


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="the model file (.onnx, .onnxtxt, .json), or - for standard input")
    parser.add_argument(
        "--policy",
        choices=[p.value for p in Policy],
        default=Policy.HUB.value,
        help="links that external data may lie behind",
    )
    parser.add_argument(
        "--operator-set",
        action="append",
        default=[],
        metavar="FILE",
        help="an operator-set document whose functions serve the model",
    )


def load_model(args: argparse.Namespace) -> Model:
    """The model that the command line names."""
    source = standard_input() if args.model == "-" else args.model
    return load(source, policy=args.policy, operator_sets=args.operator_set)
