"""Fix, free or change sizes of a model's inputs; constants that hold an old batch size are repaired.

sardonyx set-dims m.onnx --dim N=8 -o out.onnx
sardonyx set-dims m.onnx --input x=1,3,224,224 -o out.onnx
sardonyx set-dims m.onnx --free x:0=N -o out.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.progress import progress
from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.summary import Json, port
from sardonyx._src.cli.targets import add_out, finish, pairs
from sardonyx._src.errors import InputError
from sardonyx._src.rewrite.tools.set_dims import set_dims

HELP = "fix, free or change sizes of inputs"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a variable becomes a number; may be repeated",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=SIZES",
        help="an input gets a shape, as x=N,3,224,224; may be repeated",
    )
    parser.add_argument(
        "--free",
        action="append",
        default=[],
        metavar="NAME:AXIS=VARIABLE",
        help="an axis of an input becomes a variable, as x:0=N; may be repeated",
    )
    add_out(parser)


def run(args: argparse.Namespace) -> int:
    dims = {name: number(size, f"--dim {name}={size}") for name, size in pairs(args.dim, "--dim").items()}
    inputs = {name: sizes.split(",") for name, sizes in pairs(args.input, "--input").items()}
    free = dict(axis_of(place, name) for place, name in pairs(args.free, "--free").items())
    model = load_model(args)
    with progress(1):
        changed = set_dims(model, dims=dims, inputs=inputs, free=free)
    facts: dict[str, Json] = {
        "inputs": [port(v) for v in changed.graph.inputs],
        "outputs": [port(v) for v in changed.graph.outputs],
    }
    return finish(changed, args, facts, notes=len(model.notes))


def axis_of(place: str, name: str) -> tuple[tuple[str, int], str]:
    """Input and axis of the left side of --free."""
    value, colon, axis = place.rpartition(":")
    if not colon or not value:
        what = f"--free {place}={name}: NAME:AXIS=VARIABLE is wanted, as in --free x:0=N"
        raise InputError(what, name=place)
    return (value, number(axis, f"--free {place}={name}")), name


def number(text: str, word: str) -> int:
    if not text.removeprefix("-").isdecimal():
        raise InputError(f"{word}: {text!r} should be a number", name=word)
    return int(text)
