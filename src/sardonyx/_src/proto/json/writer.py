"""Records to JSON: protobuf's JSON mapping, compatible with `google.protobuf.json_format`.

Names in lowerCamelCase, 64-bit integers as strings, bytes in base64, enums by name, non-finite numbers as "NaN",
"Infinity" and "-Infinity".  Every field that is set is written, even with its default value, so that presence is
preserved.  The mapping cannot represent unknown fields and strings that are not UTF-8: they are errors, not
dropped.  Enum numbers without a name, which `json_format` rejects, are written and read as numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np

from sardonyx._src.errors import JsonError, LimitError
from sardonyx._src.proto.json.reader import json_name
from sardonyx._src.proto.json.scalars import Scalars, UnrepresentableValue, list_text, scalar_text
from sardonyx._src.proto.record import Field, Record, Shape, brief, fields_in_order, value_error

Breaks: TypeAlias = tuple[
    str, str, str
]  # text after an opening bracket, between items, before the closing bracket


def to_json(record: Record, *, indent: int | None = None, drop_unknown: bool = False) -> str:
    """The record as JSON text: on one line, or indented by `indent` spaces per level.

    Raises JsonError, with the field's path, for unknown fields (unless `drop_unknown` omits them), for strings
    that are not UTF-8 and for values that do not fit their fields.
    """
    writer = JsonWriter(indent, drop_unknown)
    try:
        writer.write(record, 0)
    except UnrepresentableValue as error:
        raise JsonError(error.why, path=error.path) from None
    except RecursionError:
        what = "messages are nested deeper than Python's recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None
    return "".join(writer.out)


@lru_cache(maxsize=4096)
def keys_in_order(shape: Shape) -> tuple[tuple[Field, str], ...]:
    """The fields that are set, in field-number order, each with the text of its key."""
    return tuple((field, f'"{json_name(field.name)}": ') for field in fields_in_order(shape))


class JsonWriter:
    """Appends the text of records to `out`, piece by piece."""

    def __init__(self, indent: int | None, drop_unknown: bool) -> None:
        self.indent = indent
        self.drop_unknown = drop_unknown
        self.out: list[str] = []
        self.breaks_by_depth: dict[int, Breaks] = {}

    def write(self, record: Record, depth: int) -> None:
        """Appends a record inside `depth` brackets; one stack frame per message, as in the binary codec."""
        self.check_unknown(record)
        out, values = self.out, record.__dict__
        before, between, after = self.breaks(depth)
        is_first = True
        for field, key in keys_of(record):
            value = values[field.name]
            if value is None or (field.repeated and is_empty_list(field, value)):
                continue
            out.append(f"{{{before}{key}" if is_first else between + key)
            is_first = False
            if field.message is None:
                out.append(self.array(field, value, depth) if field.repeated else scalar_text(field, value))
                continue
            parts = value if field.repeated else (value,)
            inner, next_part, end = self.breaks(depth + 1) if field.repeated else ("", "", "")
            for i, part in enumerate(parts):
                if field.repeated:
                    out.append(next_part if i else f"[{inner}")
                try:
                    if type(part) is not field.message:
                        raise UnrepresentableValue(value_error(field, part))
                    self.write(part, depth + 1 + field.repeated)
                except UnrepresentableValue as error:
                    raise error.inside(f"{field.name}[{i}]" if field.repeated else field.name) from None
            if field.repeated:
                out.append(f"{end}]")
        out.append("{}" if is_first else f"{after}}}")

    def check_unknown(self, record: Record) -> None:
        if record.unknown and not self.drop_unknown:
            expected = "a record must have no unknown fields to be written as JSON"
            cure = "pass drop_unknown=True, or --drop-unknown on the command line, to omit them"
            raise UnrepresentableValue(f"{expected}; got {len(record.unknown)}; {cure}")

    def array(self, field: Field, values: Scalars, depth: int) -> str:
        """The text of a repeated field of scalars."""
        before, between, after = self.breaks(depth + 1)
        return f"[{before}{list_text(field, values, between)}{after}]"

    def breaks(self, depth: int) -> Breaks:
        """The line breaks and indentation of an object or array inside `depth` brackets."""
        if self.indent is None:
            return "", ", ", ""
        if depth not in self.breaks_by_depth:
            line, end = (f"\n{' ' * self.indent * level}" for level in (depth + 1, depth))
            self.breaks_by_depth[depth] = line, f",{line}", end
        return self.breaks_by_depth[depth]


def keys_of(record: Record) -> tuple[tuple[Field, str], ...]:
    try:
        return keys_in_order((type(record), tuple(record.__dict__)))
    except AttributeError as error:  # an attribute that is not a field
        raise UnrepresentableValue(str(error)) from None


def is_empty_list(field: Field, values: object) -> bool:
    """Whether a repeated field has no values; raises UnrepresentableValue if it is no list."""
    if not isinstance(values, list | tuple | np.ndarray):
        raise UnrepresentableValue(f"the value must be a list; got {brief(values)}").inside(field.name)
    return len(values) == 0
