"""Show what a model is: metadata, inputs and outputs, operators, sizes.  No weight is read."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import cast

from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.streams import printable
from sardonyx._src.cli.summary import Json, flat, quantity, summary
from sardonyx._src.io.text import to_text

HELP = "show what a model is"
LINES = 24  # of a long list, and
CHARACTERS = 400  # of a long text, unless all are asked for


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--full", action="store_true", help="cut no list and no text short")
    form.add_argument("--text", action="store_true", help="print the whole model in ONNX textual syntax")
    form.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument(
        "--max-elements",
        type=int,
        default=None,
        metavar="N",
        help="with --text: cut tensors short beyond N elements",
    )


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    if args.text:
        sys.stdout.write(to_text(model, max_elements=args.max_elements).rstrip("\n") + "\n")
        return 0
    facts = summary(model)
    if args.json:
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        return 0
    table = list(rows(facts, Cut(args.full)))
    width = max(len(label) for label, _ in table)
    for label, line in table:
        sys.stdout.write(f"{label:{width}}  {printable(line)}\n")
    return 0


class Cut:
    """Cuts long lists and texts short, saying so, unless all is wanted."""

    def __init__(self, full: bool) -> None:
        self.full = full

    def lines(self, label: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Lines under one label, which stands on the first of them."""
        found = list(lines)
        if len(found) > LINES and not self.full:
            found[LINES - 1 :] = [f"and {len(found) - LINES + 1} more; --full lists all"]
        for i, line in enumerate(found):
            yield "" if i else label, line

    def text(self, label: str, text: str) -> Iterator[tuple[str, str]]:
        if len(text) > CHARACTERS and not self.full:
            text = f"{text[:CHARACTERS]}... ({len(text)} characters; --full prints all)"
        return self.lines(label, text.splitlines())


def rows(facts: dict[str, Json], cut: Cut) -> Iterator[tuple[str, str]]:
    """Label and text of every line that has something to say."""
    yield "graph", str(facts["graph"])
    for label in ("producer", "domain", "model_version", "doc"):
        if facts[label] not in ("", None):
            yield from cut.text(label.replace("_", " "), str(facts[label]))
    yield "IR version", str(facts["ir_version"])
    yield "opsets", flat(cast("dict[str, int]", facts["opset_imports"]))
    for key, value in cast("dict[str, str]", facts["metadata"]).items():
        yield from cut.text(f"metadata {printable(key)}", str(value))
    for label in ("inputs", "outputs"):
        yield from cut.lines(label, (f"{p['name']}: {p['type'] or '?'}" for p in ports(facts, label)))
    if defaults := ports(facts, "inputs_with_defaults"):
        yield "defaults", f"{len(defaults)} further inputs have initializers as defaults"
    yield "nodes", str(facts["nodes"])
    counts = cast("dict[str, int]", facts["operators"])
    digits = len(str(max(counts.values(), default=0)))
    yield from cut.lines("operators", (f"{n:{digits}} {name}" for name, n in counts.items()))
    yield from cut.lines("functions", cast("list[str]", facts["functions"]))
    if facts["training_steps"]:
        yield "training", f"{facts['training_steps']} steps"
    yield from weights(facts)
    yield from cut.lines("mended", cast("list[str]", facts["notes"]))


def weights(facts: dict[str, Json]) -> Iterator[tuple[str, str]]:
    count, size = cast(int, facts["parameters"]), cast(int, facts["bytes"])
    kinds = flat(cast("dict[str, int]", facts["element_types"]))
    if facts["tensors"]:
        what = f"{quantity(count)} elements in {facts['tensors']} tensors ({kinds}), {quantity(size, 'B')}"
        yield "weights", what
    for location, tensors in cast("dict[str, int]", facts["external_data"]).items():
        yield "", f"{tensors} of them in {location}"


def ports(facts: dict[str, Json], label: str) -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", facts[label])
