"""The inputs of a run on the command line: given values, and random ones for the others."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sardonyx._src.cli.inputs.arguments import OTHER_SIZES, parse_dims
from sardonyx._src.cli.inputs.feeds import read_feeds
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model
from sardonyx._src.measure.feeds import sizes_for
from sardonyx._src.measure.random_feeds import RandomFeeds, random_feeds
from sardonyx._src.runtime.session.session_values import SessionValue


def add_inputs(parser: argparse.ArgumentParser, purpose: str = "") -> None:
    """Adds the words for inputs, `--random` and `--dim`; purpose: what `--dim` is for besides random inputs."""
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="NAME=VALUE, where VALUE is a .npy, .pb or .json file or a literal; a .npz or .json file with all inputs; "
        "or a directory of input_0.pb, …",
    )
    parser.add_argument(
        "--random", type=int, metavar="SEED", help="use random values with this seed for missing inputs"
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"length of a dimension variable, or of INPUT:AXIS, for random inputs{purpose}; {OTHER_SIZES}",
    )


def refuse_unused_dims(args: argparse.Namespace, users: str = "--random") -> None:
    """Raises InputError for `--dim` without an option that uses it."""
    if args.dim and args.random is None:
        raise InputError(f"--dim requires {users}; add --random SEED", name="--dim")


def read_inputs(
    args: argparse.Namespace, ports: Sequence[SessionValue], model: Model | None
) -> tuple[dict[str, object], RandomFeeds]:
    """All feeds of a run, and those of them that are random.  Raises InputError for words that are no inputs.

    model: chooses the lengths of open sizes that no word states; they are 1 if it is None, as for a compiled program.
    """
    feeds = read_feeds(args.inputs, ports)
    if args.random is None:
        return feeds, RandomFeeds()
    dims = parse_dims(args.dim)
    random = random_feeds(
        ports, feeds, args.random, dims, {} if model is None else sizes_for(model, feeds, dims)
    )
    return {**feeds, **random.values}, random
