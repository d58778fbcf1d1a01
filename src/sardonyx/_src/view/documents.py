"""Documents as the data of a page: read, typed, checked and divided into scopes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from sardonyx._src.check.driver.checking import diagnose_decoding
from sardonyx._src.check.driver.sources import DocumentKind, Source, decode_as, message_in, read
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import DecodeError, JsonError, LimitError, TextError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.file_formats import FileData, recognize_format
from sardonyx._src.io.loading.operator_sets import OperatorSetSource
from sardonyx._src.ir import Model
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.partial import decode_partially
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.wire import Limits
from sardonyx._src.view.page_data import DocumentData, PageData
from sardonyx._src.view.reading.documents import ReadDocument, read_document
from sardonyx._src.view.reading.findings import add_findings, failure, finding, place_of
from sardonyx._src.view.reading.inference import add_types, infer_types
from sardonyx._src.view.scopes.build import add_scopes

UndecodableError: TypeAlias = DecodeError | TextError | JsonError | LimitError


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Options for reading documents.

    weights: whether the page contains the elements of all weights.
    policy, operator_sets, verify_checksums: as for `load`.
    """

    weights: bool = False
    policy: Policy | str = Policy.HUB
    operator_sets: Sequence[OperatorSetSource] = ()
    verify_checksums: bool = True


def open_document(
    source: Source, kind: DocumentKind | None = None, options: ReadingOptions | None = None
) -> ReadDocument:
    """The document in a source as the data of a page, complete apart from a profile.

    A binary document that does not decode completely has one finding, and the parts that can be decoded; of text formats
    nothing is shown.  Raises OSError for a file that cannot be read, TypeError for an object that is no document, and
    InvalidModel for a record with a value that its field cannot hold.
    """
    name = os.path.basename(os.fspath(source)) if isinstance(source, str | os.PathLike) else ""
    decoder = TolerantDecoder()
    with pause_gc():
        try:
            record, path = read(source, kind, None, decoder)
        except (DecodeError, TextError, JsonError, LimitError) as error:
            return broken_document(None, error, name, None, options or ReadingOptions())
        if decoder.error is not None:
            return broken_document(
                record, decoder.error, name, path, options or ReadingOptions(), decoder.fault
            )
        return complete_document(record, name, path, options or ReadingOptions())


def complete_document(record: Record, name: str, path: Path | None, options: ReadingOptions) -> ReadDocument:
    """The document of a record with types, findings and scopes."""
    document = read_with(record, name, path, options)
    typed: list[bool] = []

    def observe(model: Model) -> None:
        add_types(document, model)
        typed.append(True)

    add_findings(document, observe, path, options.policy, options.operator_sets)
    error = None if typed else infer_types(document)
    if error is not None and not any(f["severity"] == "error" for f in document.data["findings"]):
        document.data["findings"].append(failure("types cannot be inferred", error))
    for graph in document.data["graphs"]:
        add_scopes(graph, document.strings)
    return document


class TolerantDecoder:
    """Decodes data; of data that do not decode completely it decodes what it can, if that contains a part of a graph.

    error: the error of data that were decoded in part, else None.
    fault: the path of the first field that does not decode.
    """

    def __init__(self) -> None:
        self.error: DecodeError | None = None
        self.fault = ""

    def __call__(self, data: FileData, kind: DocumentKind | None, limits: Limits | None, /) -> Record:
        try:
            return decode_as(data, kind, limits)
        except DecodeError as error:
            record, fault = decode_partially(data, message_in(data, kind), limits)
            if recognize_format(data) is not None or not has_contents(record):
                raise
            self.error, self.fault = error, fault
            return record


def has_contents(record: Record) -> bool:
    """Whether a record that was decoded in part has anything to draw; data that are no model at all have nothing."""
    if isinstance(record, m.ModelProto) and record.graph is not None:
        graph = record.graph
        return any(graph.has(name) for name in ("node", "input", "output", "initializer"))
    return isinstance(record, m.ModelProto | m.OperatorSetProto) and len(record.functions) > 0


def broken_document(
    record: Record | None,
    error: UndecodableError,
    name: str,
    path: Path | None,
    options: ReadingOptions,
    first_fault: str = "",
) -> ReadDocument:
    """The document of data that do not decode: the parts that do, with a finding where decoding failed.

    first_fault: the path of the first field that does not decode.  The checker does not run, since its findings could all be
    consequences of the missing data.
    """
    document = read_with(record, name, path, options)
    fault = finding(document, diagnose_decoding(error))
    if isinstance(error, DecodeError):
        fault["message"] = f"byte {error.offset}: {fault['message']}"
    if first_fault:
        fault["place"] = place_of(document, first_fault)
        fault["message"] += f"; the first field that cannot be read is {first_fault}"
    document.data["findings"].append(fault)
    document.data["kind"] = "broken"
    if record is not None:
        infer_types(document)
    for graph in document.data["graphs"]:
        add_scopes(graph, document.strings)
    return document


def read_with(record: Record | None, name: str, path: Path | None, options: ReadingOptions) -> ReadDocument:
    """The document of a record, read with the options."""
    return read_document(
        record,
        name,
        path,
        policy=options.policy,
        weights=options.weights,
        verify_checksums=options.verify_checksums,
    )


def page_of(documents: Sequence[DocumentData], title: str = "") -> PageData:
    """The data of a page for one document, or for two; the title is by default the names of their files."""
    names = [document["source"] or "model" for document in documents]
    return {
        "format": 1,
        "title": title or " – ".join(dict.fromkeys(names)),
        "documents": [*documents],
        "difference": None,
        "server": False,
    }
