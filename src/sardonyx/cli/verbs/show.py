"""Show what a model is: metadata, inputs and outputs, operators, sizes.  No weight is read."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import cast

from sardonyx.cli.sources import add_model, load_model
from sardonyx.cli.summary import Json, flat, quantity, summary
from sardonyx.io.text import to_text

HELP = "show what a model is"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    form = parser.add_mutually_exclusive_group()
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
        sys.stdout.write(to_text(model, max_elements=args.max_elements))
        return 0
    facts = summary(model)
    if args.json:
        sys.stdout.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    else:
        print_summary(facts)
    return 0


def print_summary(facts: dict[str, Json]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for label, value in rows(facts):
        table.add_row(label, escape(value))
    console.print(table)


def rows(facts: dict[str, Json]) -> Iterable[tuple[str, str]]:
    """Label and text of every line that has something to say."""
    yield "graph", str(facts["graph"])
    for label in ("producer", "domain", "model_version", "doc"):
        if facts[label] not in ("", None):
            yield label.replace("_", " "), str(facts[label])
    yield "IR version", str(facts["ir_version"])
    yield "opsets", flat(cast("dict[str, int]", facts["opset_imports"]))
    yield from (
        (f"metadata {key}", str(value)) for key, value in cast("dict[str, str]", facts["metadata"]).items()
    )
    for label in ("inputs", "outputs"):
        yield from block(label, (f"{p['name']}: {p['type'] or '?'}" for p in ports(facts, label)))
    if defaults := ports(facts, "inputs_with_defaults"):
        yield "defaults", f"{len(defaults)} further inputs have initializers as defaults"
    yield "nodes", str(facts["nodes"])
    yield from block(
        "operators", (f"{n:6} {name}" for name, n in cast("dict[str, int]", facts["operators"]).items())
    )
    yield from block("functions", cast("list[str]", facts["functions"]))
    if facts["training_steps"]:
        yield "training", f"{facts['training_steps']} steps"
    kinds = flat(cast("dict[str, int]", facts["element_types"]))
    count, size = cast(int, facts["parameters"]), cast(int, facts["bytes"])
    yield (
        "weights",
        f"{quantity(count)} elements in {facts['tensors']} tensors ({kinds}), {quantity(size, 'B')}",
    )
    yield from block("mended", cast("list[str]", facts["notes"]))


def ports(facts: dict[str, Json], label: str) -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", facts[label])


def block(label: str, lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Lines under one label, which stands on the first of them."""
    for i, line in enumerate(lines):
        yield "" if i else label, line
