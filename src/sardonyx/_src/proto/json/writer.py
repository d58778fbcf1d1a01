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
from sardonyx._src.proto.record import Field, FieldSet, Record, brief, fields_in_order, value_error

# The text after an opening bracket, between items, and before the closing bracket.
Breaks: TypeAlias = tuple[str, str, str]
# A field, the text of its key, and the field's attributes `name`, `repeated` and `message`.
Key: TypeAlias = tuple[Field, str, str, bool, type[Record] | None]
LISTS = (list, tuple, np.ndarray)


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
def keys_in_order(field_set: FieldSet) -> tuple[Key, ...]:
    """The fields that are set, in field-number order."""
    return tuple(
        (f, f'"{json_name(f.name)}": ', f.name, f.repeated, f.message) for f in fields_in_order(field_set)
    )


class JsonWriter:
    """Appends the text of records to `out`, piece by piece."""

    def __init__(self, indent: int | None, drop_unknown: bool) -> None:
        self.indent = indent
        self.drop_unknown = drop_unknown
        self.out: list[str] = []
        self.breaks_by_depth: dict[int, Breaks] = {}

    def write(self, record: Record, depth: int) -> None:
        """Appends a record inside `depth` brackets; one stack frame per message, as in the binary codec."""
        out, values = self.out, record.__dict__
        if "_unknown" in values:
            self.check_unknown(record)
        before, between, after = self.breaks_by_depth.get(depth) or self.breaks(depth)
        start = empty = "{" + before
        for field, key, name, repeated, message in keys_of(record):
            value = values[name]
            if value is None or (repeated and is_empty_list(field, value)):
                continue
            if message is None:
                out.append(start + key)
                out.append(self.array(field, value, depth) if repeated else scalar_text(field, value))
                start = between
                continue
            out.append(start + key)
            start = between
            parts = value if repeated else (value,)
            next_part, comma, end = self.brackets(depth + 1) if repeated else ("", "", "")
            for i, part in enumerate(parts):
                out.append(next_part)
                next_part = comma
                try:
                    if type(part) is not message:
                        raise UnrepresentableValue(value_error(field, part))
                    self.write(part, depth + 1 + repeated)
                except UnrepresentableValue as error:
                    raise error.inside(f"{name}[{i}]" if repeated else name) from None
            out.append(end)
        out.append("{}" if start is empty else after + "}")

    def check_unknown(self, record: Record) -> None:
        if record.unknown and not self.drop_unknown:
            expected = "a record must have no unknown fields to be written as JSON"
            cure = "pass drop_unknown=True, or --drop-unknown on the command line, to omit them"
            raise UnrepresentableValue(f"{expected}; got {len(record.unknown)}; {cure}")

    def array(self, field: Field, values: Scalars, depth: int) -> str:
        """The text of a repeated field of scalars."""
        before, between, after = self.brackets(depth + 1)
        return before + list_text(field, values, between) + after

    def brackets(self, depth: int) -> Breaks:
        """As `breaks`, with the brackets of an array added."""
        before, between, after = self.breaks_by_depth.get(depth) or self.breaks(depth)
        return "[" + before, between, after + "]"

    def breaks(self, depth: int) -> Breaks:
        """The line breaks and indentation of an object or array inside `depth` brackets."""
        breaks = "", ", ", ""
        if self.indent is not None:
            line, end = (f"\n{' ' * self.indent * level}" for level in (depth + 1, depth))
            breaks = line, f",{line}", end
        self.breaks_by_depth[depth] = breaks
        return breaks


def keys_of(record: Record) -> tuple[Key, ...]:
    try:
        return keys_in_order((type(record), tuple(record.__dict__)))
    except AttributeError as error:  # an attribute that is not a field
        raise UnrepresentableValue(str(error)) from None


def is_empty_list(field: Field, values: object) -> bool:
    """Whether a repeated field has no values; raises UnrepresentableValue if it is no list."""
    if not isinstance(values, LISTS):
        raise UnrepresentableValue(f"the value must be a list; got {brief(values)}").inside(field.name)
    return len(values) == 0
