"""The kind of a document that a command names, and its record."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.check import check
from sardonyx._src.check.driver.sources import OPERATOR_SET_PREFIX, DocumentKind, read
from sardonyx._src.cli.output.streams import standard_input
from sardonyx._src.io.loading.operator_set_path import TEXT_HEAD, TEXT_SUFFIXES
from sardonyx._src.io.loading.operator_sets import OPSET_MAGIC
from sardonyx._src.io.regular_files import open_regular, read_all
from sardonyx._src.proto.record import Record

# The first kind that fits applies: a sequence of one element, for example, is encoded like an optional with that element.
DATA_KINDS: tuple[DocumentKind, ...] = ("tensor", "sequence", "map", "optional", "model")


class DocumentSource:
    """A document that a command line names: a file, or the bytes of standard input, which can be read only once."""

    def __init__(self, name: str, kind: DocumentKind | None) -> None:
        """Raises OSError for a file that cannot be read."""
        self.source: str | bytes = standard_input().read() if name == "-" else name
        self.kind: DocumentKind = kind or guess_kind(self.source)

    def record(self) -> Record:
        """The record of the document; raises DecodeError, TextError, JsonError or LimitError."""
        return read(self.source, self.kind, None)[0]


def guess_kind(source: str | bytes) -> DocumentKind:
    """The kind of a document: its first bytes determine it, or for `.pb` files the message that the bytes fit best."""
    head = source if isinstance(source, bytes) else read_head(Path(source))
    suffix = "" if isinstance(source, bytes) else Path(source).suffix
    if suffix in TEXT_SUFFIXES:
        return "operator-set" if OPSET_MAGIC.encode() in head[:TEXT_HEAD] else "model"
    if head.startswith(OPERATOR_SET_PREFIX):
        return "operator-set"
    return min(DATA_KINDS, key=lambda kind: misfits(source, kind)) if suffix == ".pb" else "model"


def read_head(path: Path) -> bytes:
    with open_regular(path) as file:
        return read_all(file, path, TEXT_HEAD)


def misfits(source: str | bytes, kind: DocumentKind) -> tuple[int, int]:
    """The numbers of errors and of all diagnostics if a document is read as one of this kind."""
    report = check(source, kind=kind)
    return len(report.of("error")), len(report.diagnostics)
