"""The findings of the checker about a document, with their places in the data of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from sardonyx._src.check.driver.checking import DocumentOptions, check_record, select_codes
from sardonyx._src.check.engine.api import Diagnostic
from sardonyx._src.check.engine.location import child_at, title_of
from sardonyx._src.check.type_rules.runner import ModelObserver
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.external.opening import policy_of
from sardonyx._src.io.loading.operator_sets import OperatorSetSource
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record
from sardonyx._src.view.page_data import NONE, FindingData, FindingSeverity, PlaceData
from sardonyx._src.view.reading.documents import ReadDocument

SEVERITIES: dict[str, FindingSeverity] = {"error": "error", "warning": "warning", "info": "note"}
STEP = re.compile(r"\.?([A-Za-z_]\w*)(?:\[(\d+)\])?")
MODEL_PLACE: PlaceData = {"graph": NONE, "node": NONE, "value": NONE, "attribute": ""}


def add_findings(
    document: ReadDocument,
    observe: ModelObserver,
    path: Path | None,
    policy: Policy | str,
    operator_sets: Iterable[OperatorSetSource],
) -> None:
    """Adds the diagnostics of the checker; an error that keeps the checker from running is a finding, too.

    observe: receives the model with the types that the checker has inferred, if the checker could build it.
    """
    record = document.record
    if record is None:
        return
    options = DocumentOptions(
        policy_of(policy), None, None, verify_checksums=False, pedantic=False, observe=observe
    )
    try:
        report = check_record(record, path, select_codes((), ()), operator_sets, options)
    except SardonyxError as error:
        document.data["findings"].append(failure("the checker cannot read the document", error))
        return
    document.data["findings"] += [finding(document, d) for d in report.diagnostics]


def failure(what: str, error: SardonyxError) -> FindingData:
    """The finding of an error that kept a part of Sardonyx from reading the document."""
    message = f"{what}: {error}"
    return {
        "severity": "error",
        "code": "",
        "message": message,
        "clause": "",
        "cure": "",
        "place": MODEL_PLACE,
    }


def finding(document: ReadDocument, diagnostic: Diagnostic) -> FindingData:
    return {
        "severity": SEVERITIES[diagnostic.severity],
        "code": diagnostic.rule,
        "message": diagnostic.message,
        "clause": diagnostic.clause,
        "cure": diagnostic.help,
        "place": place_of(document, diagnostic.location),
    }


def place_of(document: ReadDocument, location: str) -> PlaceData:
    """The graph, node, value and attribute to which a location of the checker leads, as far as the page has them."""
    place = PlaceData(graph=NONE, node=NONE, value=NONE, attribute="")
    for field, index, record in steps_of(document.record, location):
        if record is not None and id(record) in document.graphs.numbers:
            place = PlaceData(graph=document.graphs.numbers[id(record)], node=NONE, value=NONE, attribute="")
        elif place["graph"] != NONE:
            refine(document, place, field, index, record)
    return place


def refine(document: ReadDocument, place: PlaceData, field: str, index: int, record: Record | None) -> None:
    """Refines a place inside a graph by one more step of a location."""
    graph = document.data["graphs"][place["graph"]]
    columns = graph["nodes"]
    if field == "node":
        place["node"] = index
    elif isinstance(record, m.AttributeProto):
        place["attribute"] = record.name
    elif place["node"] != NONE and place["attribute"] == "" and field in ("input", "output"):
        slots, ends = (
            (columns["inputs"], columns["inputEnds"])
            if field == "input"
            else (columns["outputs"], columns["outputEnds"])
        )
        start = ends[place["node"] - 1] if place["node"] else 0
        if start + index < ends[place["node"]]:
            place["value"] = slots[start + index]
    elif place["node"] == NONE:
        place["value"] = value_of(document, place["graph"], field, index, record)


def value_of(document: ReadDocument, graph: int, field: str, index: int, record: Record | None) -> int:
    """The value that an entry of a graph is about: an input, an output, an initializer or a declaration."""
    names = document.graphs.names[graph]
    ports = document.data["graphs"][graph]
    if field in ("input", "output"):
        numbers = ports["inputs"] if field == "input" else ports["outputs"]
        return numbers[index] if 0 <= index < len(numbers) else NONE
    if isinstance(record, m.SparseTensorProto):
        record = record.values
    if isinstance(record, m.TensorAnnotation):
        return names.get(record.tensor_name, NONE)
    if isinstance(record, m.TensorProto | m.ValueInfoProto):
        return names.get(record.name, NONE)
    return NONE


def steps_of(record: Record | None, location: str) -> Iterator[tuple[str, int, Record | None]]:
    """The field, index and record of each step of a location; titles of records in the location are skipped."""
    position = 0
    while record is not None and (match := STEP.match(location, position)):
        field, index = match[1], int(match[2] or 0)
        try:
            child = child_at(record, match[0].removeprefix("."))
        except (IndexError, AttributeError):
            return
        yield field, index, child
        position = match.end()
        if child is not None and match[2] and location.startswith(title := title_of(child), position):
            position += len(title)
        record = child
