"""Types of the columns of text, by the first lines of a file."""

from __future__ import annotations

import io
import json as standard_json
from collections import Counter

from sardonyx._src.errors import InputError
from sardonyx._src.score.arrow import csv, json, pa
from sardonyx._src.score.formats import CSV


def infer_schema(block: bytes, format: str) -> pa.Schema:
    """The columns of the first block of a file; those without values hold text.

    Rows that do not fit the others have no influence.  Raises InputError if no line parses.
    """
    try:
        readable = b"".join(line for line in block.splitlines(keepends=True) if is_text_line(line))
        schema = csv_schema(readable) if format == CSV else json_schema(readable)
    except (pa.ArrowInvalid, ValueError) as error:
        raise InputError(f"the source must begin with a row that parses: {error}", name="source") from None
    fields = (field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema)
    return pa.schema(list(fields))


def is_text_line(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def csv_schema(block: bytes) -> pa.Schema:
    options = csv.ParseOptions(invalid_row_handler=lambda row: "skip")
    return csv.read_csv(io.BytesIO(block), csv.ReadOptions(block_size=len(block) + 1), options).schema


def json_schema(block: bytes) -> pa.Schema:
    try:
        return json.read_json(io.BytesIO(block), json.ReadOptions(block_size=len(block) + 1)).schema
    except pa.ArrowInvalid:
        return frequent_types(block)


def frequent_types(block: bytes) -> pa.Schema:
    """The fields of the lines that are objects, each with its most frequent type."""
    counts: dict[str, Counter[pa.DataType]] = {}
    for line in block.splitlines():
        for name, value in parse_object(line).items():
            if value is not None:
                counts.setdefault(name, Counter())[type_of(value)] += 1
    if not counts:
        raise InputError(
            "the source must be JSON objects, one in a line; got none in its first lines", name="source"
        )
    return pa.schema([(name, types.most_common(1)[0][0]) for name, types in counts.items()])


def parse_object(line: bytes) -> dict[str, object]:
    try:
        value = standard_json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def type_of(value: object) -> pa.DataType:
    """The type of a value of JSON; integers count as floats, since columns have both."""
    if isinstance(value, int) and not isinstance(value, bool):
        return pa.float64()
    try:
        return pa.infer_type([value])
    except pa.ArrowException:
        return pa.string()
