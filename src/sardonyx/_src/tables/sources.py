"""Sources: tables to score, as record batches in an order that is the same at each reading."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sardonyx._src.errors import InputError
from sardonyx._src.tables.arrow import pa
from sardonyx._src.tables.encodings import plain_schema

READ_BYTES = 8 << 20  # approximate size of a batch in bytes
MAX_READ_ROWS = 1 << 16
Identity = list[list[object]]
T = TypeVar("T")


@dataclass(frozen=True)
class UnreadableRow:
    """A row of a text file that does not parse.

    place: the number of readable rows before it in its batch.
    reason: why it does not parse.
    text: its line.
    """

    place: int
    reason: str
    text: str


@dataclass(frozen=True)
class SourceBatch:
    """Consecutive rows of a source.

    first: the number of the first row.
    batch: the rows that parse.
    unreadable: the rows that do not parse.
    """

    first: int
    batch: pa.RecordBatch
    unreadable: tuple[UnreadableRow, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows, unreadable ones included."""
        return int(self.batch.num_rows) + len(self.unreadable)


class Source(Protocol):
    """A table.

    rows: the number of rows; None if it is not known before they are read.
    identity: facts by which a later job recognizes the same rows, such as paths with sizes and times of change; empty for a
        table in memory and a stream.
    """

    schema: pa.Schema
    rows: int | None
    identity: Identity

    def read(self, first: int, columns: Sequence[str], max_rows: int | None) -> Iterator[SourceBatch]:
        """The rows from number `first` on, in batches of up to `max_rows`, or as many as `READ_BYTES` hold."""
        ...


def read_rows(bytes_per_row: float, max_rows: int | None) -> int:
    """The number of rows of a batch: the maximum of the caller, or as many as `READ_BYTES` hold."""
    if max_rows is not None:
        return max_rows
    return int(min(max(READ_BYTES / max(bytes_per_row, 1), 1), MAX_READ_ROWS))


def number_batches(
    batches: Iterator[pa.RecordBatch], first: int, skip: int, max_rows: int
) -> Iterator[SourceBatch]:
    """Batches of up to `max_rows` rows, without the first `skip` rows; the row after these has the number `first`."""
    for batch in batches:
        skipped = min(skip, batch.num_rows)
        skip -= skipped
        for start in range(skipped, batch.num_rows, max_rows):
            part = batch.slice(start, max_rows)
            yield SourceBatch(first, part)
            first += part.num_rows


def readable(parts: Iterator[T], name: str) -> Iterator[T]:
    """The parts of a file or stream; raises InputError for damaged ones, and for types that Arrow cannot convert."""
    try:
        yield from parts
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{name} must be readable to its end: {error}", name=name) from error


class MemoryTable:
    """A table in memory."""

    identity: Identity = []  # noqa: RUF012  # none

    def __init__(self, table: pa.Table) -> None:
        self.table, self.schema = table, plain_schema(table.schema)
        self.rows: int | None = int(table.num_rows)

    def read(self, first: int, columns: Sequence[str], max_rows: int | None) -> Iterator[SourceBatch]:
        size = read_rows(self.table.nbytes / max(self.table.num_rows, 1), max_rows)
        return number_batches(
            iter(self.table.select(list(columns)).slice(first).to_batches(size)), first, 0, size
        )


class BatchStream:
    """Record batches that can be read once, from the first on."""

    identity: Identity = []  # noqa: RUF012  # none
    rows: int | None = None

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self.reader, self.schema = reader, plain_schema(reader.schema)

    def read(self, first: int, columns: Sequence[str], max_rows: int | None) -> Iterator[SourceBatch]:
        batches = readable(iter(self.reader), "the stream")
        selected = (batch.select(list(columns)) for batch in batches)
        return number_batches(selected, first, first, max_rows or MAX_READ_ROWS)


def bytes_per_row(total: int, rows: int) -> float:
    return total / rows if rows else math.inf
