"""Types of the columns of text files: the types of the inputs that they feed, else the types of the first lines of a file."""

from __future__ import annotations

import io
import json as standard_json
from collections import Counter
from collections.abc import Callable

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.tables.arrow import csv, json, pa, pc
from sardonyx._src.tables.formats import CSV

INT64_END, UINT64_END = 1 << 63, 1 << 64


def fed_type(kind: pa.DataType, dtype: DataType, *, is_untyped: bool, is_kept: bool) -> pa.DataType:
    """The type as which to read a column that feeds inputs of an element type.

    kind: the type of the first values of the column.
    is_untyped: whether numbers and strings are written in the same way, unlike in JSON.
    is_kept: whether the column is also a column of the result; then integers stay integers.  Otherwise they are read as a type
        that accepts other numbers in later rows, too.
    """
    types = pa.types
    if types.is_list(kind):
        return pa.list_(fed_type(kind.value_type, dtype, is_untyped=is_untyped, is_kept=is_kept))
    if dtype is DataType.STRING:
        return pa.string() if is_untyped or types.is_temporal(kind) else kind
    if dtype is DataType.BOOL:
        return pa.bool_() if types.is_string(kind) else kind
    if not any(is_kind(kind) for is_kind in (types.is_string, types.is_integer, types.is_floating)):
        return kind
    if dtype.is_integer:
        return pa.uint64() if dtype is DataType.UINT64 else pa.int64()
    return kind if is_kept and types.is_integer(kind) else pa.float64()


def with_integers_as(schema: pa.Schema, kind: pa.DataType) -> pa.Schema:
    """A schema with another type instead of integers, also in lists."""

    def replace(of: pa.DataType) -> pa.DataType:
        if pa.types.is_list(of):
            return pa.list_(replace(of.value_type))
        return kind if pa.types.is_integer(of) else of

    return pa.schema([field.with_type(replace(field.type)) for field in schema])


def infer_schema(block: bytes, format: str) -> pa.Schema:
    """The columns of the first block of a file, with their types; columns without values hold text.

    Rows that do not fit the others are ignored.  Raises InputError if no line parses.
    """
    try:
        header, rows = take_line(block) if format == CSV else (b"", block)
        readable = header + b"".join(line for line in rows.splitlines(keepends=True) if is_text_line(line))
        schema = csv_schema(readable) if format == CSV else json_schema(readable)
    except (pa.ArrowInvalid, ValueError) as error:
        raise InputError(f"the source must begin with a row that parses: {error}", name="source") from None
    fields = (field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema)
    return pa.schema(list(fields))


def take_line(block: bytes) -> tuple[bytes, bytes]:
    """The first line that is not empty, and the rest."""
    line, end, rest = block.lstrip(b"\r\n").partition(b"\n")
    return line + end, rest


def is_text_line(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def csv_schema(block: bytes) -> pa.Schema:
    parsing = csv.ParseOptions(invalid_row_handler=lambda row: "skip")

    def read(types: pa.Schema | None) -> pa.Table:
        options = csv.ReadOptions(block_size=len(block) + 1)
        names = None if types is None else types.names
        conversion = csv.ConvertOptions(column_types=types, include_columns=names)
        return csv.read_csv(io.BytesIO(block), options, parsing, conversion)

    return with_large_integers(read)


def json_schema(block: bytes) -> pa.Schema:
    def read(types: pa.Schema | None) -> pa.Table:
        behavior = "infer" if types is None else "ignore"
        parsing = json.ParseOptions(explicit_schema=types, unexpected_field_behavior=behavior)
        return json.read_json(io.BytesIO(block), json.ReadOptions(block_size=len(block) + 1), parsing)

    try:
        return with_large_integers(read)
    except pa.ArrowInvalid:
        return frequent_types(block)


def with_large_integers(read: Callable[[pa.Schema | None], pa.Table]) -> pa.Schema:
    """The types of columns; uint64 for integers that int64 does not hold, which Arrow would read as floats.

    read: reads the table with the columns and types of a schema or, for None, with all columns and types that Arrow chooses.
    """
    table = read(None)
    schema = table.schema
    for i, (field, column) in enumerate(zip(schema, table.columns, strict=True)):
        if field.type == pa.float64() and (pc.max(column).as_py() or 0) >= INT64_END:
            large = field.with_type(pa.uint64())
            try:
                read(pa.schema([large]))
            except pa.ArrowInvalid:
                continue
            schema = schema.set(i, large)
    return schema


def frequent_types(block: bytes) -> pa.Schema:
    """The fields of the lines that are JSON objects, each with its most frequent type; numbers get the widest of their types."""
    counts: dict[str, Counter[pa.DataType]] = {}
    for line in block.splitlines():
        for name, value in parse_object(line).items():
            if value is not None:
                counts.setdefault(name, Counter())[type_of(value)] += 1
    if not counts:
        raise InputError(
            "the source must be JSON objects, one in a line; got none in its first lines", name="source"
        )
    for types in counts.values():
        present = [kind for kind in (pa.int64(), pa.uint64(), pa.float64()) if kind in types]
        for narrower in present[:-1]:
            types[present[-1]] += types.pop(narrower)
    return pa.schema([(name, types.most_common(1)[0][0]) for name, types in counts.items()])


def parse_object(line: bytes) -> dict[str, object]:
    try:
        value = standard_json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def type_of(value: object) -> pa.DataType:
    """The type of a value of JSON."""
    if isinstance(value, int) and not isinstance(value, bool):
        if -INT64_END <= value < INT64_END:
            return pa.int64()
        return pa.uint64() if 0 <= value < UINT64_END else pa.float64()
    try:
        return pa.infer_type([value])
    except (pa.ArrowException, OverflowError):
        return pa.string()
