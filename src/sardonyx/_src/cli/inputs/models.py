"""The model argument that most verbs share, and the options for loading it."""

from __future__ import annotations

import argparse

from sardonyx._src.cli.output.streams import standard_input
from sardonyx._src.io.external import Policy
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir.model import Model


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="model file (.onnx, .onnxtxt, .json), or - for standard input")
    parser.add_argument(
        "--policy",
        choices=[p.value for p in Policy],
        default=Policy.HUB.value,
        help="which links to external data files are followed (%(default)s)",
    )
    parser.add_argument(
        "--operator-set",
        action="append",
        default=[],
        metavar="FILE",
        help="load functions from this operator-set document; may be repeated",
    )


def load_model(args: argparse.Namespace) -> Model:
    """The model that the command line names."""
    source = standard_input() if args.model == "-" else args.model
    return load(source, policy=args.policy, operator_sets=args.operator_set)
