"""Verbs that take two models or make one: where it goes, and what there is to say of it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

from sardonyx._src.cli.sources import load_model
from sardonyx._src.cli.streams import printable
from sardonyx._src.cli.summary import Json
from sardonyx._src.errors import InputError
from sardonyx._src.io.save import save
from sardonyx._src.ir.graph import Model


def add_out(parser: argparse.ArgumentParser) -> None:
    """Adds `-o` and `--json`, which `finish` goes by."""
    parser.add_argument(
        "-o",
        "--out",
        required=True,
        metavar="FILE",
        help="write the model to this file, or - for standard output",
    )
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def load_second(args: argparse.Namespace, path: str) -> Model:
    """The second model of a verb that takes two; what is wrong with it is told under its own name."""
    first, args.model = args.model, path
    model = load_model(args)
    args.model = first
    return model


def finish(model: Model, args: argparse.Namespace, facts: Mapping[str, Json], notes: int = 0) -> int:
    """Writes the model, and tells what was done: the facts with `--json`, else on the error stream the notes of the model
    behind the first `notes` that it had before."""
    if args.out == "-":
        if args.json:
            raise InputError(
                "-o - and --json would both write to standard output; name a file", name="--json"
            )
        save(model, sys.stdout.buffer)
    else:
        save(model, args.out)
    told = [str(note) for note in model.notes[notes:]]
    if args.json:
        sys.stdout.write(json.dumps({**facts, "notes": told}, indent=1) + "\n")
    else:
        for line in told:
            sys.stderr.write(f"sardonyx: note: {printable(line)}\n")
    return 0


def pairs(words: list[str], option: str) -> dict[str, str]:
    """What words of the form OLD=NEW say; raises InputError, naming the option, for others and for one OLD twice."""
    found: dict[str, str] = {}
    for old, new in words_in_pairs(words, option):
        if old in found:
            raise InputError(f"{option}: {old!r} is named twice; name it once", name=old)
        found[old] = new
    return found


def words_in_pairs(words: list[str], option: str) -> list[tuple[str, str]]:
    """Both sides of words of the form A=B, of which A may hold an = itself; raises InputError for others."""
    found = []
    for word in words:
        one, equals, other = word.rpartition("=")
        if not equals or not one or not other:
            raise InputError(f"{option} {word}: A=B is wanted, as in {option} x=image", name=word)
        found.append((one, other))
    return found
