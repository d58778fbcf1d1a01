"""Columns of tables that feed inputs: `--map`, `--pack`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sardonyx._src.cli.inputs.arguments import parse_mapping
from sardonyx._src.errors import InputError


def add_column_maps(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="COLUMN=INPUT",
        help="feed an input by a column of another name; may be repeated",
    )
    group.add_argument(
        "--pack",
        action="append",
        default=[],
        metavar="INPUT=COLUMN,COLUMN",
        help="feed an input by several columns, as one matrix; may be repeated",
    )


def parse_columns(maps: Sequence[str], packs: Sequence[str]) -> dict[str, str | list[str]]:
    """The columns of the inputs that --map and --pack name."""
    columns: dict[str, str | list[str]] = {}
    for column, name in parse_mapping(maps, "--map").items():
        if name in columns:
            raise InputError(
                f"--map: input {name!r} must have one column; got {columns[name]!r} and {column!r}",
                name="--map",
            )
        columns[name] = column
    for name, listed in parse_mapping(packs, "--pack").items():
        if name in columns:
            raise InputError(f"input {name!r} must have one of --map and --pack; got both", name="--pack")
        columns[name] = listed.split(",")
    return columns
