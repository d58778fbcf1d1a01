"""Options and output of verbs that write a model: `-o`, `--model-version`, `--json`, and the second model of verbs that take two."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

from sardonyx._src.cli.inputs.models import load_model
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import Json
from sardonyx._src.errors import InputError
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.model_version import parse_model_version


def add_out(parser: argparse.ArgumentParser) -> None:
    """Adds `-o` and `--json`, the options of `finish`."""
    parser.add_argument(
        "-o",
        "--out",
        required=True,
        metavar="FILE",
        help="write the model to FILE, or to standard output if FILE is -",
    )
    add_model_version(parser)
    parser.add_argument("--json", action="store_true", help="print a summary of the result as JSON")
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


def load_second(args: argparse.Namespace, path: str) -> Model:
    """The second model of a verb that takes two; errors name its file."""
    first, args.model = args.model, path
    model = load_model(args)
    args.model = first
    return model


def finish(model: Model, args: argparse.Namespace, facts: Mapping[str, Json], notes: int = 0) -> int:
    """Writes the model and reports: with `--json` the facts and notes on standard output, else the notes on standard error.

    The first `notes` notes of the model are those of its source and are not reported.
    """
    set_model_version(model, args)
    if args.out == "-":
        if args.json:
            raise InputError(
                "-o and --json must not both write to standard output; got -o -; name a file", name="--json"
            )
        save(model, sys.stdout.buffer, drop_unknown=args.drop_unknown)
    else:
        save(model, args.out, drop_unknown=args.drop_unknown)
    notes_text = [str(note) for note in model.notes[notes:]]
    if args.json:
        sys.stdout.write(json.dumps({**facts, "notes": notes_text}, indent=1) + "\n")
    else:
        for line in notes_text:
            sys.stderr.write(f"sardonyx: note: {printable(line)}\n")
    return 0
