"""Show a summary of a model: metadata, inputs and outputs, operators, sizes.  Weights are not read.

sardonyx show m.onnx
sardonyx show m.onnx --text
sardonyx show m.onnx --stats --dim N=8
sardonyx show m.onnx --python
sardonyx show m.onnx --mermaid
sardonyx show m.onnx --dot --graph loop.body
sardonyx show ai.onnx.18.onnxopset --text
sardonyx show input_0.pb --text --kind sequence

With --text the document may also be an operator-set document or a stored tensor, sequence, map or optional, and a
model that cannot be loaded is printed as its records, with what is wrong on standard error.

With --python the model is a program for sardonyx.Builder that rebuilds it, with large weights from the model's file.

Exit codes: 0 success, 1 the document is invalid, 2 usage error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from sardonyx._src.cli.inputs.arguments import parse_dims
from sardonyx._src.cli.inputs.models import add_model, load_model, operator_sets
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.cli.output.summary import Json, flat, summary
from sardonyx._src.cli.output.tables import format_table, line_width
from sardonyx._src.errors import DecodeError, InputError, JsonError, LimitError, SardonyxError, TextError
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.text import to_text
from sardonyx._src.measure.quantities import pluralize, quantity
from sardonyx._src.proto.text import to_text as record_to_text

HELP = "show a summary of a model"
MAX_LINES = 24  # lines of a list that are printed without --full
KINDS = (
    "model",
    "operator-set",
    "tensor",
    "sequence",
    "map",
    "optional",
)  # the document kinds of the checker
UNDECODABLE = (DecodeError, TextError, JsonError, LimitError)
MAX_CHARACTERS = 400  # characters of a string that are printed without --full


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--full", action="store_true", help="do not truncate lists and texts")
    form.add_argument("--text", action="store_true", help="print the whole document in ONNX textual syntax")
    form.add_argument("--python", action="store_true", help="print a program that builds the model")
    form.add_argument(
        "--mermaid", action="store_true", help="print a graph as a Mermaid flowchart, for Markdown"
    )
    form.add_argument("--dot", action="store_true", help="print a graph in DOT, for Graphviz")
    form.add_argument(
        "--json", action="store_true", help="print the summary, or with --stats the costs, as JSON"
    )
    add_graph(parser, "with --mermaid and --dot")
    parser.add_argument(
        "--stats",
        action="store_true",
        help="print operations, bytes and parameters of each node, computed from the types without a run",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="with --stats: length of a dimension variable (others: 1); may be repeated",
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        help="with --text: kind of document, if neither magic number nor contents identify it",
    )
    parser.add_argument(
        "--max-elements",
        type=int,
        default=None,
        metavar="N",
        help="with --text: truncate tensors after N elements",
    )


def add_graph(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Adds the option that names one of the graphs of a model."""
    parser.add_argument(
        "--graph",
        metavar="NAME",
        help=f"{purpose}: a function by domain.name, a nested graph by node and attribute, as in loop.body, or by its "
        "own name (default: the main graph)",
    )


def run(args: argparse.Namespace) -> int:
    if args.graph is not None and not (args.mermaid or args.dot):
        raise InputError("--graph requires --mermaid or --dot; got neither", name="graph")
    if args.text:
        return print_document(args)
    if args.kind not in (None, "model"):
        raise InputError(f"--kind {args.kind} requires --text; add --text", name="--kind")
    if args.python:
        # The builder imports operators, which a summary does not need.
        from sardonyx._src.build.source.program import to_python

        write_text(to_python(load_model(args), file=None if args.model == "-" else args.model))
        return 0
    if args.stats:
        return print_costs(args)
    if args.mermaid or args.dot:
        return print_picture(args)
    facts = summary(load_model(args))
    if args.json:
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        return 0
    table = list(rows(facts, Truncator(args.full)))
    width = max(len(label) for label, _ in table)
    for label, line in table:
        sys.stdout.write(f"{label:{width}}  {printable(line)}\n")
    return 0


def print_picture(args: argparse.Namespace) -> int:
    """Prints the outline of a graph; scopes stay folded as far as the limits of the drawing program require."""
    # The checker imports operators, which a summary does not need.
    from sardonyx._src.cli.inputs.documents import DocumentSource
    from sardonyx._src.view.documents import ReadingOptions, open_document
    from sardonyx._src.view.graph_labels import find_graph
    from sardonyx._src.view.outline import outline_of
    from sardonyx._src.view.text import dot, mermaid

    options = ReadingOptions(False, args.policy, operator_sets(args), args.verify_checksums)
    document = open_document(DocumentSource(args.model, "model").source, "model", options)
    number = find_graph(document.data, args.graph or "main")
    if args.mermaid:
        write_text(mermaid.mermaid(outline_of(document.data, number, mermaid.MAX_BOXES)))
    else:
        write_text(dot.dot(outline_of(document.data, number, dot.MAX_BOXES)))
    return 0


def print_costs(args: argparse.Namespace) -> int:
    """Prints the costs of the nodes and their sums."""
    from sardonyx._src.measure.costs import node_costs  # imports operators, which a summary does not need

    costs = node_costs(load_model(args), parse_dims(args.dim))
    totals = {
        "flops": sum(cost.flops or 0 for cost in costs),
        "bytes": sum(cost.bytes or 0 for cost in costs),
        "unknown": sum(cost.flops is None or cost.bytes is None for cost in costs),
    }
    if args.json:
        facts = {"nodes": [cost.as_json() for cost in costs], "totals": totals}
        sys.stdout.write(json.dumps(facts, indent=1) + "\n")
        return 0
    table = [
        (amount(cost.flops, ""), amount(cost.bytes, "B"), amount(cost.parameters, ""), cost.output, cost.node)
        for cost in costs
    ]
    headers = ("FLOPs", "bytes", "parameters", "output", "node")
    lines = list(format_table(headers, table, 3, line_width()))
    rest = f"; {pluralize(totals['unknown'], 'node')} of unknown cost" if totals["unknown"] else ""
    lines.append(f"all: {quantity(totals['flops'], 'FLOP')}, {quantity(totals['bytes'], 'B')}{rest}")
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    return 0


def amount(count: int | None, unit: str) -> str:
    return "?" if count is None else quantity(count, unit)


def print_document(args: argparse.Namespace) -> int:
    """Prints a document as text: a model as it is loaded; other documents, and models that cannot be loaded, as records."""
    # The checker imports operators, which a summary does not need.
    from sardonyx._src.check import check
    from sardonyx._src.cli.inputs.documents import DocumentSource

    document = DocumentSource(args.model, args.kind)
    refusal: SardonyxError | None = None
    if document.kind == "model":
        try:
            model = load(document.source, policy=args.policy, operator_sets=operator_sets(args))
            write_text(to_text(model, max_elements=args.max_elements))
            return 0
        except UNDECODABLE:
            raise
        except SardonyxError as error:
            refusal = error
    record = document.record()
    write_text(record_to_text(record, max_elements=args.max_elements))
    report = check(record, operator_sets=operator_sets(args), policy=args.policy, base=folder_of(args.model))
    lines = [str(diagnostic) for diagnostic in report.of("error")]
    if refusal is not None and not lines:
        lines = [str(refusal)]
    for line in lines:
        sys.stderr.write(printable(f"sardonyx: {args.model}: {line}") + "\n")
    return 1 if lines else 0


def write_text(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")


def folder_of(name: str) -> Path | None:
    """The folder of external data."""
    return None if name == "-" else Path(name).parent


class Truncator:
    """Truncates long lists and strings, with a note, unless `full`."""

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
        yield "defaults", f"{pluralize(len(defaults), 'more input')} with initializers as defaults"
    yield "nodes", str(facts["nodes"])
    counts = cast("dict[str, int]", facts["operators"])
    digits = len(str(max(counts.values(), default=0)))
    yield from truncator.lines("operators", (f"{n:{digits}} {name}" for name, n in counts.items()))
    yield from truncator.lines("functions", cast("list[str]", facts["functions"]))
    if facts["training_steps"]:
        yield "training", pluralize(cast(int, facts["training_steps"]), "step")
    yield from weights(facts)
    yield from truncator.lines("repaired", cast("list[str]", facts["notes"]))


def weights(facts: dict[str, Json]) -> Iterator[tuple[str, str]]:
    count, size = cast(int, facts["parameters"]), cast(int, facts["bytes"])
    kinds = flat(cast("dict[str, int]", facts["element_types"]))
    if facts["tensors"]:
        amount = pluralize(count, "element") if count < 1000 else f"{quantity(count)} elements"
        what = (
            f"{amount} in {pluralize(cast(int, facts['tensors']), 'tensor')} ({kinds}), {quantity(size, 'B')}"
        )
        yield "weights", what
    for location, tensors in cast("dict[str, int]", facts["external_data"]).items():
        yield "", f"{tensors} of them in {location}"


def ports(facts: dict[str, Json], label: str) -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", facts[label])
