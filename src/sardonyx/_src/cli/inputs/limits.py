"""The options `--limit-*`: what a run may use."""

from __future__ import annotations

import argparse
import math
from dataclasses import fields

from sardonyx._src.ops.api import RunLimits

UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}  # the exponent of 2 of each unit


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Adds one option for each field of `RunLimits`."""
    defaults = RunLimits()
    group = parser.add_argument_group("limits", "a run that would pass one of them ends with an error")
    group.add_argument(
        "--limit-bytes",
        type=parse_size,
        metavar="SIZE",
        help=f"size of one result; a number of bytes, or one with K, M, G or T ({defaults.bytes >> 30}G)",
    )
    group.add_argument(
        "--limit-run-bytes",
        type=parse_size,
        metavar="SIZE",
        help="memory of all that a run holds at one time, without inputs and weights (three quarters of the memory that the "
        "control group or the machine has)",
    )
    group.add_argument(
        "--limit-seconds", type=parse_seconds, metavar="S", help="duration of a run in seconds (no limit)"
    )
    group.add_argument(
        "--limit-iterations",
        type=parse_count,
        metavar="N",
        help=f"iterations of one loop ({defaults.iterations})",
    )
    group.add_argument(
        "--limit-nodes",
        type=parse_count,
        metavar="N",
        help=f"nodes that a run executes, those of loops and functions included ({defaults.nodes})",
    )


def read_limits(args: argparse.Namespace) -> RunLimits:
    """The limits that the options set, and the defaults of the others."""
    options = {field.name: getattr(args, f"limit_{field.name}") for field in fields(RunLimits)}
    return RunLimits(**{name: value for name, value in options.items() if value is not None})


def parse_size(text: str) -> int:
    """A number of bytes, with K, M, G or T for powers of 1024."""
    shift = UNITS.get(text[-1:].upper(), 0)
    return parse_count(text[:-1] if shift else text) << shift


def parse_count(text: str) -> int:
    """A number >= 0."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be a number >= 0; got {text!r}")
    return int(text)


def parse_seconds(text: str) -> float:
    """A number of seconds > 0."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"must be a number of seconds > 0; got {text!r}")
    return seconds
