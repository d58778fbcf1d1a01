"""Show a summary of a model: metadata, inputs and outputs, operators, sizes.  Weights are not read."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import cast

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import Json, flat, quantity, summary
from sardonyx._src.io.text import to_text

HELP = "show a summary of a model"
MAX_LINES = 24  # lines of a list, unless --full is given
MAX_CHARACTERS = 400  # characters of a text, unless --full is given


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--full", action="store_true", help="do not truncate lists and texts")
    form.add_argument("--text", action="store_true", help="print the whole model in ONNX textual syntax")
    form.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument(
        "--max-elements",
        type=int,
        default=None,
        metavar="N",
        help="with --text: truncate tensors after N elements",
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
    table = list(rows(facts, Truncator(args.full)))
    width = max(len(label) for label, _ in table)
    for label, line in table:
        sys.stdout.write(f"{label:{width}}  {printable(line)}\n")
    return 0


class Truncator:
    """Truncates long lists and texts, with a note, unless `full`."""

    def __init__(self, full: bool) -> None:
        self.full = full

    def lines(self, label: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The lines with the label on the first one."""
        shown = list(lines)
        if len(shown) > MAX_LINES and not self.full:
            shown[MAX_LINES - 1 :] = [f"and {len(shown) - MAX_LINES + 1} more; use --full to list all"]
        for i, line in enumerate(shown):
            yield "" if i else label, line

    def text(self, label: str, text: str) -> Iterator[tuple[str, str]]:
        if len(text) > MAX_CHARACTERS and not self.full:
            text = f"{text[:MAX_CHARACTERS]}... ({len(text)} characters; use --full to print all)"
        return self.lines(label, text.splitlines())


def rows(facts: dict[str, Json], truncator: Truncator) -> Iterator[tuple[str, str]]:
    """Label and text of every non-empty row."""
    yield "graph", str(facts["graph"])
    for label, key in (
        ("producer",) * 2,
        ("domain",) * 2,
        ("model version", "model_version_text"),
        ("doc",) * 2,
    ):
        if facts[key] not in ("", None):
            yield from truncator.text(label, str(facts[key]))
    yield "IR version", str(facts["ir_version"])
    yield "opsets", flat(cast("dict[str, int]", facts["opset_imports"]))
    for key, value in cast("dict[str, str]", facts["metadata"]).items():
        yield from truncator.text(f"metadata {printable(key)}", str(value))
    for label in ("inputs", "outputs"):
        yield from truncator.lines(label, (f"{p['name']}: {p['type'] or '?'}" for p in ports(facts, label)))
    if defaults := ports(facts, "inputs_with_defaults"):
        yield "defaults", f"{len(defaults)} further inputs have initializers as defaults"
    yield "nodes", str(facts["nodes"])
    counts = cast("dict[str, int]", facts["operators"])
    digits = len(str(max(counts.values(), default=0)))
    yield from truncator.lines("operators", (f"{n:{digits}} {name}" for name, n in counts.items()))
    yield from truncator.lines("functions", cast("list[str]", facts["functions"]))
    if facts["training_steps"]:
        yield "training", f"{facts['training_steps']} steps"
    yield from weights(facts)
    yield from truncator.lines("repaired", cast("list[str]", facts["notes"]))


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
