"""CSV and JSON lines: blocks of lines that Arrow parses, and the lines that do not parse."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from sardonyx._src.errors import InputError
from sardonyx._src.tables.arrow import csv, json, pa
from sardonyx._src.tables.bad_rows import find_failures
from sardonyx._src.tables.encodings import empty_batch
from sardonyx._src.tables.formats import CSV
from sardonyx._src.tables.sources import MAX_READ_ROWS, Identity, SourceBatch, UnreadableRow
from sardonyx._src.tables.text_types import take_line, with_integers_as

BLOCK_BYTES = 2 << 20
LINE_BYTES = 4096  # bytes that are read at a time to find the end of a line
MAX_SHOWN = 1000  # characters of a rejected line that are reported
WHOLE_NUMBER = pa.decimal128(38, 0)  # reads 1.0 and 1e3 without rounding, and refuses 1.5


@dataclass(frozen=True)
class TextFile:
    """A file of lines.

    open: returns the lines of the file, in blocks.
    partition: the columns with one value for the whole file, as text.
    size: the bytes of the file; None if parts of it cannot be read.
    open_range: returns the lines that begin at a byte from its first to before its second argument, in blocks; None like `size`.
    """

    open: Callable[[], Iterator[bytes]]
    partition: Mapping[str, str | None]
    size: int | None = None
    open_range: Callable[[int, int], Iterator[bytes]] | None = None


class TextTable:
    """The rows of text files, file by file; a line that does not parse as the types of the columns is an unreadable row."""

    rows: int | None = None

    def __init__(self, files: Sequence[TextFile], format: str, schema: pa.Schema, identity: Identity) -> None:
        self.files, self.format, self.schema, self.identity = files, format, schema, identity
        self.headers: dict[int, list[str]] = {}

    @property
    def has_ranges(self) -> bool:
        """Whether parts of all files can be read."""
        return all(file.size is not None for file in self.files)

    def is_untyped(self, name: str) -> bool:
        """Whether numbers and strings of a column are written in the same way, as in CSV and in names of folders."""
        return self.format == CSV or name in self.files[0].partition

    def set_types(self, types: Mapping[str, pa.DataType]) -> None:
        """Read these columns as these types, whatever the types of their first rows are."""
        fields = (field.with_type(types.get(field.name, field.type)) for field in self.schema)
        self.schema = pa.schema(list(fields))

    def read(self, first: int, columns: Sequence[str], max_rows: int | None) -> Iterator[SourceBatch]:
        number = 0
        for file in self.files:
            for part in self.parse(file, columns, number, max_rows or MAX_READ_ROWS):
                number = part.first + part.rows
                if number > first:
                    yield part if part.first >= first else rows_after(part, first)

    def parse(
        self, file: TextFile, columns: Sequence[str], first: int, max_rows: int
    ) -> Iterator[SourceBatch]:
        """The rows of a file; its first row has the number `first`."""
        header, blocks = self.split_header(file.open())
        return self.parse_blocks(blocks, file, header, columns, first, max_rows)

    def read_range(
        self, number: int, start: int, end: int, columns: Sequence[str], max_rows: int
    ) -> Iterator[SourceBatch]:
        """The rows of the lines of a file that begin at a byte from `start` to before `end`, numbered from 0.

        number: the number of the file; parts of the file must be readable.
        """
        file = self.files[number]
        assert file.open_range is not None, "parts of the file can be read"
        if number not in self.headers:
            self.headers[number], _ = self.split_header(file.open())
        blocks = file.open_range(start, end)
        if not start:
            _, blocks = self.split_header(blocks)
        return self.parse_blocks(blocks, file, self.headers[number], columns, 0, max_rows)

    def split_header(self, blocks: Iterator[bytes]) -> tuple[list[str], Iterator[bytes]]:
        """The names of the columns of a CSV file, and the blocks of its rows; no names for other formats and empty files."""
        block = next(blocks, None)
        if block is None or self.format != CSV:
            return [], blocks if block is None else chain([block], blocks)
        header, rows = split_header(block)
        return header, chain([rows], blocks)

    def parse_blocks(
        self,
        blocks: Iterator[bytes],
        file: TextFile,
        header: Sequence[str],
        columns: Sequence[str],
        first: int,
        max_rows: int,
    ) -> Iterator[SourceBatch]:
        """The rows of blocks of a file; the first row has the number `first`."""
        parser = BlockParser(self.schema, header, file.partition, self.format, columns)
        for block in blocks:
            table, unreadable = parser.parse(block)
            selected = table.select(list(columns)).combine_chunks()
            if unreadable:
                yield SourceBatch(first, one_batch(selected), tuple(unreadable))
                first += table.num_rows + len(unreadable)
                continue
            for batch in selected.to_batches(max_rows):
                yield SourceBatch(first, batch)
                first += batch.num_rows


class BlockParser:
    """Parses blocks of lines.

    schema: the types of all columns.
    header: the names of the columns of a CSV file, in its order.
    partition: the columns with one value for the whole file, as text.
    columns: the columns of the schema to read.
    """

    def __init__(
        self,
        schema: pa.Schema,
        header: Sequence[str],
        partition: Mapping[str, str | None],
        format: str,
        columns: Sequence[str],
    ) -> None:
        self.header, self.format = header, format
        own = [field for field in schema if field.name not in partition]
        self.schema = pa.schema([field for field in own if field.name in columns] or own)
        self.exact_schema = with_integers_as(self.schema, WHOLE_NUMBER)
        for name in self.schema.names if header else ():
            if name not in header:
                raise InputError(
                    f"every CSV file of the source must have the column {name!r}; one has {', '.join(header)}",
                    name=name,
                )
        self.constants = {
            name: constant(name, text, schema.field(name).type) for name, text in partition.items()
        }

    def parse(self, block: bytes) -> tuple[pa.Table, list[UnreadableRow]]:
        """The rows of the lines that parse, and the lines that do not."""
        try:
            return self.table_of(block), []
        except pa.ArrowInvalid:
            lines = [line for line in block.splitlines(keepends=True) if not line.isspace()]
        reasons = find_failures(len(lines), lambda start, count: self.reason_of(lines[start : start + count]))
        unreadable = [
            UnreadableRow(
                row - place, reasons[row], lines[row].decode("utf-8", "replace").rstrip("\r\n")[:MAX_SHOWN]
            )
            for place, row in enumerate(sorted(reasons))
        ]
        return self.table_of(b"".join(line for i, line in enumerate(lines) if i not in reasons)), unreadable

    def reason_of(self, lines: list[bytes]) -> str | None:
        try:
            self.table_of(b"".join(lines))
        except pa.ArrowInvalid as error:
            return str(error)
        return None

    def table_of(self, block: bytes) -> pa.Table:
        """The rows of a block.  Raises ArrowInvalid for text that is not of the columns' types."""
        table = self.schema.empty_table() if not block or block.isspace() else self.numbers_of(block)
        for name, value in self.constants.items():
            table = table.append_column(name, pa.repeat(value, table.num_rows))
        return table

    def numbers_of(self, block: bytes) -> pa.Table:
        """The rows of a block in which integers may be written as 1.0 or 1e3."""
        try:
            return self.read(block, self.schema)
        except pa.ArrowInvalid as error:
            if self.exact_schema.equals(self.schema):
                raise
            try:
                self.refuse_texts(block)
                return self.read(block, self.exact_schema).select(self.schema.names).cast(self.schema)
            except pa.ArrowInvalid:
                raise error from None

    def refuse_texts(self, block: bytes) -> None:
        """Raises ArrowInvalid for JSON with strings instead of numbers: Arrow would parse them as decimals."""
        if self.format != CSV:
            self.read(block, with_integers_as(self.schema, pa.float64()))

    def read(self, block: bytes, schema: pa.Schema) -> pa.Table:
        """The rows of a block, parsed as the types of a schema."""
        if self.format == CSV:
            return csv.read_csv(
                io.BytesIO(block),
                csv.ReadOptions(column_names=self.header, block_size=len(block) + 1),
                convert_options=csv.ConvertOptions(column_types=schema, include_columns=schema.names),
            )
        options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        return json.read_json(io.BytesIO(block), json.ReadOptions(block_size=len(block) + 1), options)


def constant(name: str, text: str | None, kind: pa.DataType) -> pa.Scalar:
    """The value of a partition; raises InputError for text that does not parse as the column's type."""
    try:
        return pa.scalar(text, pa.string()).cast(kind)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"column {name!r}, which folders of the source name, must hold {kind}: {error}", name=name
        ) from None


def line_blocks(stream: BinaryIO, count: int | None = None) -> Iterator[bytes]:
    """The lines of a stream in blocks of complete lines, each of about `BLOCK_BYTES`.  count: the bytes to read, None for all."""
    rest = b""
    left = sys.maxsize if count is None else count
    with stream:
        while chunk := stream.read(min(BLOCK_BYTES, left)):
            left -= len(chunk)
            end = chunk.rfind(b"\n") + 1
            if end:
                yield rest + chunk[:end]
                rest = chunk[end:]
            else:
                rest += chunk
    if rest:
        yield rest + b"\n"


def line_range(stream: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """The lines of a file that begin at a byte from `start` to before `end`, in blocks of complete lines."""
    first, last = (line_start(stream, position) for position in (start, end))
    stream.seek(first)
    return line_blocks(stream, last - first)


def line_start(stream: BinaryIO, position: int) -> int:
    """The position of the first beginning of a line at or after a position; the end of the file if there is none."""
    if not position:
        return 0
    stream.seek(position - 1)
    position -= 1
    while chunk := stream.read(LINE_BYTES):
        newline = chunk.find(b"\n")
        if newline >= 0:
            return position + newline + 1
        position += len(chunk)
    return position


def split_header(block: bytes) -> tuple[list[str], bytes]:
    """The names of the columns of a CSV file, and the rows after them."""
    line, rows = take_line(block)
    return list(csv.read_csv(io.BytesIO(line.rstrip(b"\n") + b"\n")).column_names), rows


def rows_after(part: SourceBatch, first: int) -> SourceBatch:
    """The rows of a batch from number `first` on."""
    skip = first - part.first
    numbers = [
        u.place + i for i, u in enumerate(part.unreadable)
    ]  # the positions of unreadable rows among all rows
    left = [u for number, u in zip(numbers, part.unreadable, strict=True) if number >= skip]
    readable = skip - (len(numbers) - len(left))
    moved = tuple(UnreadableRow(u.place - readable, u.reason, u.text) for u in left)
    return SourceBatch(first, part.batch.slice(readable), moved)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table in one chunk as a batch."""
    batches = table.to_batches()
    return batches[0] if batches else empty_batch(table.schema)
