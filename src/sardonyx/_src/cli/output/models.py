"""Options and output of verbs that write a model: `-o`, `--model-version` and `--json`; loading of a second model."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping

from sardonyx._src.cli.inputs.models import load_model
from sardonyx._src.cli.output.destinations import (
    add_output,
    create_parent,
    is_stream,
    open_stream,
    report_written,
)
from sardonyx._src.cli.output.streams import STANDARD_STREAM, printable
from sardonyx._src.cli.output.summary import Json, locations, weights
from sardonyx._src.errors import InputError
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Model
from sardonyx._src.ir.model_version import parse_model_version


def add_out(parser: argparse.ArgumentParser, what: str = "the model", *, required: bool = True) -> None:
    """Adds the options of `write_model`: `-o`, `--model-version` and `--drop-unknown`.  what: the model that is written."""
    add_output(parser, help=f"write {what} to FILE", required=required)
    add_model_version(parser)
    add_drop_unknown(parser)


def add_drop_unknown(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--drop-unknown",
        action="store_true",
        help="omit fields that ONNX does not define, which JSON cannot represent",
    )


def add_model_version(parser: argparse.ArgumentParser) -> None:
    """Adds `--model-version`, whose value is a number as `model_version` stores it."""
    parser.add_argument(
        "--model-version",
        type=model_version,
        metavar="VERSION",
        help="write this model_version: major.minor.patch, as 1.2.3, or a number",
    )


def model_version(text: str) -> int:
    """The value of `--model-version`, for argparse."""
    try:
        return parse_model_version(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def set_model_version(model: Model, args: argparse.Namespace) -> Model:
    """The model, with the version that `--model-version` gives; raises InputError if no model is written."""
    if args.model_version is not None:
        if args.out is None:
            raise InputError("--model-version requires -o; got none", name="--model-version")
        model.model_version = args.model_version
    return model


def add_json(parser: argparse.ArgumentParser, what: str = "a summary of the result") -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def load_second(args: argparse.Namespace, path: str) -> Model:
    """The second model of a verb with two models; errors name its file.

    Raises InputError if both are standard input.
    """
    if args.model == path == STANDARD_STREAM:
        what = "standard input must be one model; got - for both; name a file for one of them"
        raise InputError(what, name=STANDARD_STREAM)
    first, args.model = args.model, path
    model = load_model(args)
    args.model = first
    return model


def write_model(model: Model, args: argparse.Namespace, external: bool | None = None) -> None:
    """Writes the model to `--out` with the version of `--model-version`, and prints which files were written.

    external: as of `save`.
    """
    set_model_version(model, args)
    save_model(model, args.out, drop_unknown=args.drop_unknown, external=external)
    report_written(args, *written_files(model, args.out, has_data=bool(external)))


def save_model(model: Model, path: str, *, drop_unknown: bool, external: bool | None = None) -> None:
    """Writes a model to a file, whose folder is created, or to a stream, which has no external data."""
    if is_stream(path):
        with open_stream(path) as stream:
            save(model, stream, drop_unknown=drop_unknown)
    else:
        create_parent(path)
        save(model, path, drop_unknown=drop_unknown, external=external)


def written_files(model: Model, path: str, *, has_data: bool = False) -> list[str]:
    """The files that `save_model` writes: the model, and its external data if it has any."""
    data = f"{path}.data"
    has_data = has_data or any(True for _ in locations(weights(model)))
    return [path, *([data] if has_data and not is_stream(path) and os.path.isfile(data) else [])]


def finish(model: Model, args: argparse.Namespace, facts: Mapping[str, Json], notes: int = 0) -> int:
    """Writes the model, and prints the facts and its notes with `--json`, else only the notes, on standard error.

    notes: the number of notes that the source model had; they come first and are not printed.
    """
    write_model(model, args)
    notes_text = [str(note) for note in model.notes[notes:]]
    if args.json:
        sys.stdout.write(json.dumps({**facts, "notes": notes_text}, indent=1) + "\n")
    else:
        for line in notes_text:
            sys.stderr.write(f"sardonyx: note: {printable(line)}\n")
    return 0
