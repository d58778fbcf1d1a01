"""Writers of tables: Parquet, CSV, JSON lines and Arrow IPC."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import BinaryIO, Protocol

from sardonyx._src.errors import InputError
from sardonyx._src.tables.arrow import csv, ipc, pa, parquet
from sardonyx._src.tables.encodings import python_values
from sardonyx._src.tables.formats import CSV, IPC, IPC_STREAM, JSON, PARQUET

SUFFIX_OF = {PARQUET: ".parquet", CSV: ".csv", JSON: ".jsonl", IPC: ".arrow", IPC_STREAM: ".arrows"}
ROW_GROUP_ROWS, ROW_GROUP_BYTES = 1 << 17, 32 << 20  # rows or bytes at which buffered rows become a row group
NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


class TableWriter(Protocol):
    """Writes the batches of a table to a file that its caller closes."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class ParquetTableWriter:
    """Writes Parquet, in row groups of many batches; floats are not encoded as dictionaries, since few of them repeat."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        encoded = [
            f.name for f in schema if not pa.types.is_floating(f.type) and not pa.types.is_nested(f.type)
        ]
        self.writer = parquet.ParquetWriter(file, schema, use_dictionary=encoded)
        self.batches: list[pa.RecordBatch] = []
        self.rows = self.bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        if self.rows >= ROW_GROUP_ROWS or self.bytes >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        if self.batches:
            self.writer.write_table(pa.Table.from_batches(self.batches))
            self.batches.clear()
            self.rows = self.bytes = 0

    def close(self) -> None:
        self.flush()
        self.writer.close()


class ArrowWriter:
    """Writes CSV or Arrow IPC with the writers of Arrow, batch by batch."""

    def __init__(self, writer: pa.ipc.RecordBatchStreamWriter | csv.CSVWriter) -> None:
        self.writer = writer

    def write(self, batch: pa.RecordBatch) -> None:
        self.writer.write_batch(batch)

    def close(self) -> None:
        self.writer.close()


class JsonLinesWriter:
    """Writes one JSON object for each row; NaN and infinities are strings, since JSON has no numbers for them."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [python_values(column) for column in batch.columns]
        rows = (dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True))
        self.file.write("".join(map(json_line, rows)).encode())

    def close(self) -> None:
        """Does nothing, since no rows are buffered."""


def json_line(value: object) -> str:
    return json.dumps(json_value(value), allow_nan=False, ensure_ascii=False) + "\n"


def json_value(value: object) -> object:
    """A value of a row as a value of JSON; numbers that JSON lacks, and values that it has no type for, become strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return NOT_FINITE.get(value, "NaN")
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [json_value(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def open_writer(file: BinaryIO, schema: pa.Schema, format: str) -> TableWriter:
    """A writer of a table with a schema."""
    match format:
        case "parquet":
            return ParquetTableWriter(file, schema)
        case "csv":
            return ArrowWriter(csv.CSVWriter(file, schema))
        case "json":
            return JsonLinesWriter(file)
        case "ipc":
            return ArrowWriter(ipc.new_file(file, schema))
        case _:
            return ArrowWriter(ipc.new_stream(file, schema))


def flat_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch for CSV: a struct becomes a column for each field, `name.field`.  Raises InputError for lists."""
    columns: list[tuple[str, pa.Array]] = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if pa.types.is_struct(field.type):
            parts = zip(field.type, column.flatten(), strict=True)
            columns += [(f"{field.name}.{part.name}", values) for part, values in parts]
        elif pa.types.is_nested(field.type):
            raise InputError(
                f"column {field.name!r} must not be of lists to be written as CSV; write a column for each element with "
                'vectors="columns" (--vectors columns)',
                name="vectors",
            )
        else:
            columns.append((field.name, column))
    return pa.RecordBatch.from_arrays([values for _, values in columns], [name for name, _ in columns])
