"""Models, graphs, reports and sessions as short tables for notebooks: static HTML, in which every string is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from itertools import islice

from sardonyx._src.check.engine.api import Report
from sardonyx._src.formatters import formats_html
from sardonyx._src.ir import Attribute, Function, Graph, Model, Node, SparseTensor, Tensor, Value
from sardonyx._src.ir.model_version import format_model_version
from sardonyx._src.measure.compare.models import COLUMNS, ModelComparison
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.runtime.programs.memory_report import MemoryReport
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.tools.diff import Difference

MAX_ROWS = 20  # rows of a table
MAX_CHARACTERS = 120  # characters of a cell
Row = Sequence[object]


@formats_html(Model)
def model_html(model: Model) -> str:
    """A model: versions, producer, and the main graph."""
    imports = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in model.opset_imports.items())
    producer = f"{model.producer_name} {model.producer_version}".strip()
    version = format_model_version(model.model_version) if model.model_version is not None else ""
    facts = [
        ("IR version", model.ir_version),
        ("operator sets", imports),
        ("producer", producer),
        ("model version", version),
        ("functions", ", ".join(function.label for function in model.functions.values())),
        ("documentation", model.doc),
        *model.metadata.items(),
    ]
    rows = [row for row in facts if row[1] not in ("", None)]
    return title(f"Model {model.graph.name}") + table((), rows) + ports(model.graph) + nodes(model.graph)


@formats_html(Graph)
def graph_html(graph: Graph) -> str:
    return title(f"Graph {graph.name}") + ports(graph) + nodes(graph)


@formats_html(Function)
def function_html(function: Function) -> str:
    """A function: attributes with their defaults, and the body."""
    attributes = [
        (name, "required" if value is None else attribute_text(value))
        for name, value in function.attributes.items()
    ]
    parameters = table(("attribute", "default"), attributes) if attributes else ""
    return title(f"Function {function.label}") + parameters + ports(function.body) + nodes(function.body)


@formats_html(Node)
def node_html(node: Node) -> str:
    """A node: inputs, attributes and outputs."""
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    rows: list[Row] = [("input", value_name(value), value_type(value)) for value in node.inputs]
    rows += [("attribute", name, attribute_text(value)) for name, value in node.attributes.items()]
    rows += [("output", value_name(value), value_type(value)) for value in node.outputs]
    return title(f"Node {node.name} ({operator})") + table(("", "name", "type or value"), rows)


@formats_html(Report)
def report_html(report: Report) -> str:
    """A report of the checker: the diagnostics, with location and cure."""
    rows = [(d.severity, f"{d.rule} {d.name}", d.location, d.message, d.help) for d in report.diagnostics]
    head = ("", "rule", "place", "what", "cure")
    return title("Report: " + ("no errors" if report.ok else "errors")) + (table(head, rows) if rows else "")


@formats_html(Session)
def session_html(session: Session) -> str:
    """A session: the inputs and outputs of a run."""
    rows: list[Row] = [("input", value.name, value.type or "?") for value in session.inputs]
    rows += [("output", value.name, value.type or "?") for value in session.outputs]
    return title(f"Session, engine {session.engine}") + table(("", "name", "type"), rows)


@formats_html(MemoryReport)
def memory_html(report: MemoryReport) -> str:
    """A memory report: the sums, and the values that are live at the peak."""
    sums = [(name, f"{getattr(report, name):,}") for name in ("arena", "peak", "weights", "scratch")]
    held = [(m.name, f"{m.bytes:,}", f"{m.first} to {m.last}") for m in report.held]
    place = title(f"held at the peak, step {report.peak_step} ({report.node})")
    return (
        title("Memory of a run, in bytes")
        + table((), sums)
        + place
        + table(("value", "bytes", "steps"), held)
    )


@formats_html(Difference)
def difference_html(difference: Difference) -> str:
    """A difference: its two sides."""
    rows = [("before", difference.before), ("after", difference.after)]
    if difference.distance is not None:
        rows.append(("distance", str(difference.distance)))
    if difference.breaks:
        rows.append(("callers", "break"))
    shown = [row for row in rows if row[1]]
    head = title(f"{difference.kind} {difference.place}: {difference.what}")
    return head + (table((), shown) if shown else "")


@formats_html(ModelComparison)
def comparison_html(comparison: ModelComparison) -> str:
    """A comparison: the verdict, and the errors by value."""
    return title("; ".join(comparison.summary())) + table(COLUMNS, comparison.rows())


def ports(graph: Graph) -> str:
    """The inputs and outputs of a graph."""
    rows: list[Row] = [("input", value_name(value), value_type(value)) for value in graph.inputs]
    rows += [("output", value_name(value), value_type(value)) for value in graph.outputs]
    return table(("", "name", "type"), rows) if rows else ""


def nodes(graph: Graph) -> str:
    """The first nodes of a graph."""
    rows = (
        (node.op_type, node.name, names(node.inputs), names(node.outputs))
        for node in islice(graph.nodes, MAX_ROWS)
    )
    count = len(graph.nodes)
    head = ("operator", "name", "inputs", "outputs")
    return f"<details><summary>{pluralize(count, 'node')}</summary>{table(head, rows, count)}</details>"


def names(values: Iterable[Value | None]) -> str:
    return ", ".join(map(value_name, values))


def value_name(value: Value | None) -> str:
    return "" if value is None else value.name


def value_type(value: Value | None) -> str:
    return "" if value is None else str(value.type or "?")


def attribute_text(attribute: Attribute) -> str:
    """The value of an attribute as text: tensors and graphs are only described."""
    value = attribute.value
    if attribute.ref:
        return f"@{attribute.ref}"
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return repr(value) if isinstance(value, Tensor | SparseTensor | Graph) else str(value)


def title(text: str) -> str:
    return f"<p><b>{cell(text)}</b></p>"


def table(head: Sequence[str], rows: Iterable[Row], count: int | None = None) -> str:
    """A table of the first rows; `count` is how many there are if `rows` has only the first ones."""
    every = list(rows)
    body = "".join(f"<tr>{''.join(f'<td>{cell(v)}</td>' for v in row)}</tr>" for row in every[:MAX_ROWS])
    labels = f"<tr>{''.join(f'<th>{cell(label)}</th>' for label in head)}</tr>" if head else ""
    more = (len(every) if count is None else count) - min(len(every), MAX_ROWS)
    return f"<table>{labels}{body}</table>" + (f"<p>{more:,} more</p>" if more else "")


def cell(value: object) -> str:
    """Escaped text, cut if it is long; bytes that are not UTF-8 become question marks."""
    text = str(value)
    shortened = text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"
    return html.escape(shortened.encode("utf-8", "replace").decode())
