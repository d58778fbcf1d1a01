"""Change input shapes: fix dimension variables, set sizes, or make sizes variable.

Constants that contain an old batch size are updated.

sardonyx set-dims m.onnx --dim N=8 -o out.onnx
sardonyx set-dims m.onnx --input x=1,3,224,224 -o out.onnx
sardonyx set-dims m.onnx --free x:0=N -o out.onnx
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.inputs.arguments import parse_mapping
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.models import add_json, add_out, finish
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.summary import Json, port
from sardonyx._src.errors import InputError
from sardonyx._src.tools.set_dims import set_dims

HELP = "change input shapes"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="replace a dimension variable by a number; may be repeated",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=SIZES",
        help="set the shape of an input, as x=N,3,224,224; may be repeated",
    )
    parser.add_argument(
        "--free",
        action="append",
        default=[],
        metavar="NAME:AXIS=VARIABLE",
        help="make an axis of an input variable, as x:0=N; may be repeated",
    )
    add_out(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    dims = {
        name: parse_integer(size, f"--dim {name}={size}")
        for name, size in parse_mapping(args.dim, "--dim").items()
    }
    inputs = {name: sizes.split(",") for name, sizes in parse_mapping(args.input, "--input").items()}
    free = dict(axis_of(place, name) for place, name in parse_mapping(args.free, "--free").items())
    model = load_model(args)
    with progress(1):
        changed = set_dims(model, dims=dims, inputs=inputs, free=free)
    facts: dict[str, Json] = {
        "inputs": [port(v) for v in changed.graph.inputs],
        "outputs": [port(v) for v in changed.graph.outputs],
    }
    return finish(changed, args, facts, notes=len(model.notes))


def axis_of(place: str, name: str) -> tuple[tuple[str, int], str]:
    """The input and axis, and the variable, of a --free option."""
    value, colon, axis = place.rpartition(":")
    if not colon or not value:
        what = f"--free must be NAME:AXIS=VARIABLE, as in --free x:0=N; got '{place}={name}'"
        raise InputError(what, name=place)
    return (value, parse_integer(axis, f"--free {place}={name}")), name


def parse_integer(text: str, word: str) -> int:
    if not text.removeprefix("-").isdecimal():
        raise InputError(f"{word}: the value must be an integer; got {text!r}", name=word)
    return int(text)
