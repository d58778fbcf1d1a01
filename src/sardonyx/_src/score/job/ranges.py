"""Ranges of a source, each read and scored by one worker of a cluster: rows of binary files, or bytes of text files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sardonyx._src.score.model.scorer import ScoredBatch
from sardonyx._src.tables.file_tables import FileTable
from sardonyx._src.tables.sources import Source, SourceBatch
from sardonyx._src.tables.text_tables import TextTable

RANGE_ROWS = 1 << 17  # rows of a range of binary files: seconds of work, and megabytes of results
RANGE_BYTES = 16 << 20  # bytes of a range of text


class SourceRange(Protocol):
    """Consecutive rows of a source.

    first: the number of the first row; None if it is only known once everything before the range was read.
    """

    @property
    def first(self) -> int | None: ...

    def read(self, source: Source, columns: Sequence[str], max_rows: int) -> Iterator[SourceBatch]:
        """The rows, numbered as in the source; if `first` is None, numbered from 0."""
        ...


@dataclass(frozen=True)
class RowRange:
    """The rows of a source from number `first` to before `end`."""

    first: int
    end: int

    def read(self, source: Source, columns: Sequence[str], max_rows: int) -> Iterator[SourceBatch]:
        for part in source.read(self.first, columns, max_rows):
            yield SourceBatch(part.first, part.batch.slice(0, self.end - part.first))
            if part.first + part.rows >= self.end:
                break


@dataclass(frozen=True)
class TextRange:
    """The lines of a text file that begin at a byte from `start` to before `end`.  file: the number of the file."""

    file: int
    start: int
    end: int
    first: int | None = None

    def read(self, source: Source, columns: Sequence[str], max_rows: int) -> Iterator[SourceBatch]:
        assert isinstance(source, TextTable), "ranges of bytes are of text"
        return source.read_range(self.file, self.start, self.end, columns, max_rows)


def split_rows(first: int, end: int) -> list[SourceRange]:
    """Ranges of the rows from number `first` to before `end`."""
    return [RowRange(start, min(start + RANGE_ROWS, end)) for start in range(first, end, RANGE_ROWS)]


def split_text(source: TextTable) -> list[SourceRange]:
    """Ranges of all bytes of text files."""
    return [
        TextRange(number, start, min(start + RANGE_BYTES, size))
        for number, size in enumerate(file.size or 0 for file in source.files)
        for start in range(0, size, RANGE_BYTES)
    ]


def split_source(
    source: FileTable | TextTable, first: int, columns: Sequence[str]
) -> tuple[int, list[SourceRange]]:
    """The number of the first row of the first range, and the ranges that contain the rows from number `first` on.

    Lines of text before row `first` are parsed to find it, since the number of rows in a part of a text file is unknown.
    """
    if isinstance(source, FileTable):
        return first, split_rows(first, source.rows or 0)
    ranges, number = split_text(source), 0
    while ranges and number < first:
        rows = sum(part.rows for part in ranges[0].read(source, columns, RANGE_ROWS))
        if number + rows > first:
            break
        number += rows
        del ranges[0]
    return number, ranges


def drop_rows(scored: ScoredBatch, count: int) -> ScoredBatch:
    """The results of a range without its first `count` rows; rejects keep their numbers in the range."""
    rejects = tuple(reject for reject in scored.rejects if reject.row >= count)
    skipped = count - (len(scored.rejects) - len(rejects))
    batch = None if scored.batch is None else scored.batch.slice(skipped)
    return ScoredBatch(batch, rejects, scored.rows - count)
