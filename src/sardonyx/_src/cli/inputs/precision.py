"""The option for the precision of products."""

from __future__ import annotations

import argparse

from sardonyx._src.compile.program import EXACT
from sardonyx._src.compile.program.steps.precision import PRECISIONS


def add_precision(parser: argparse.ArgumentParser) -> None:
    """Adds `--precision`."""
    parser.add_argument(
        "--precision",
        default=EXACT,
        choices=PRECISIONS,
        help="bf16 rounds the factors of float32 products by weights to bfloat16, on processors that have such products "
        "(%(default)s)",
    )
