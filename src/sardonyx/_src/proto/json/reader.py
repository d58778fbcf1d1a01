"""Records from JSON: a strict parser of protobuf's JSON mapping."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np

from sardonyx._src.errors import JsonError, LimitError
from sardonyx._src.proto.record import RANGES, Field, Record
from sardonyx._src.proto.wire import Limits

RecordT = TypeVar("RecordT", bound=Record)
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# Longer integers fit in no integer field and are parsed as floats, which is faster.
MAX_INTEGER_CHARACTERS = 24
LONG_INTEGER = 10 ** (MAX_INTEGER_CHARACTERS - 1)
MAX_PARSED_DIGITS = 4300  # Python's default limit; the time to parse an integer is quadratic in its digits
INTEGER_STRINGS = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:,-?(?:0|[1-9][0-9]*+))*+")
NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
URL_SAFE = str.maketrans("-_", "+/")


def from_json(text: str, message: type[RecordT], limits: Limits | None = None) -> RecordT:
    """The record of type `message` that JSON text represents in protobuf's mapping.

    Names may be `opType` or `op_type`; null means absent; integers may be numbers or strings; base64 may use either
    alphabet and omit its padding.  Raises JsonError, with the path, for text that is not such a message (unknown keys,
    duplicate keys and two members of a oneof are errors), and LimitError for text that exceeds `limits`.
    """
    limits = limits or Limits()
    if len(text) > limits.size:
        raise LimitError(
            f"the text must have at most {limits.size} characters; got {len(text)}", limit="size"
        )
    reader = JsonReader(limits)
    try:
        return reader.message(parse(text, reader), message, "")
    except json.JSONDecodeError as error:
        raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}", path="") from None
    except RecursionError:
        what = "the text is nested deeper than Python's recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None


def parse(text: str, reader: JsonReader) -> object:
    """The text as dicts, lists, strings and numbers.

    Python's limit on the digits of an integer is used first, since the parser is faster without `parse_int`.
    """
    if 0 < sys.get_int_max_str_digits() <= MAX_PARSED_DIGITS:
        try:
            return json.loads(text, object_pairs_hook=reader.members)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer of too many digits
            reader.records = reader.limits.records
    return json.loads(text, parse_int=integer_or_float, object_pairs_hook=reader.members)


def integer_or_float(digits: str) -> int | float:
    return int(digits) if len(digits) <= MAX_INTEGER_CHARACTERS else float(digits)


def without_long_integers(value: object) -> object:
    """The value, but as a float if it is an integer that fits in no integer field."""
    if type(value) is int and not -LONG_INTEGER < value < LONG_INTEGER:
        return integer_or_float(str(value))
    return value


class JsonValueError(Exception):  # never leaves this module
    """A JSON value that does not fit its field; the caller adds the path."""


class DuplicateKeyObject(dict[str, object]):
    """A JSON object with a duplicate key, `key`."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__()
        for self.key, value in pairs:
            if self.key in self:
                break
            self[self.key] = value


class JsonReader:
    """Builds records from parsed JSON and enforces the limits.

    records: the number of objects that the text may still have.
    depth: the levels of nesting that remain.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.records = limits.records
        self.depth = limits.nesting

    def members(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        """A JSON object; counted during parsing, so that the limit is enforced before memory is exhausted."""
        self.records -= 1
        if self.records < 0:
            raise LimitError(
                f"the text must have at most {self.limits.records} objects; got more", limit="records"
            )
        members = dict(pairs)
        return members if len(members) == len(pairs) else DuplicateKeyObject(pairs)

    def message(self, tree: object, message: type[RecordT], path: str) -> RecordT:
        """The record of a JSON object; one stack frame per message, as in the binary codec."""
        if not isinstance(tree, dict):
            raise JsonError(
                f"the value must be an object ({message.__name__}); got {describe(tree)}", path=path
            )
        if message.NESTS:
            self.depth -= 1
            if self.depth < 0:
                what = f"messages must be nested at most {self.limits.nesting} levels deep"
                raise LimitError(what, limit="nesting")
        record = message()
        for field, value, field_path in fields_in(tree, message, path):
            if field.message is None:
                record.set(
                    field.name,
                    values_of(field, value, field_path)
                    if field.repeated
                    else value_of(field, value, field_path),
                )
            elif not field.repeated:
                record.set(field.name, self.message(value, field.message, field_path))
            else:
                parts: list[Record] = []
                for i, part in enumerate(array(value, field_path)):
                    parts.append(self.message(part, field.message, f"{field_path}[{i}]"))
                record.set(field.name, parts)
        if message.NESTS:
            self.depth += 1
        return record


def fields_in(
    tree: dict[str, object], message: type[Record], path: str
) -> Iterator[tuple[Field, object, str]]:
    """Field, value and path of each member of the object; nulls and empty arrays are skipped."""
    if isinstance(tree, DuplicateKeyObject):
        raise JsonError(f"keys of an object must be unique; got {tree.key!r} twice", path=path)
    by_name = spellings(message)
    seen: dict[str, str] = {}  # by field or oneof, the key that has set it
    for key, value in tree.items():
        field = by_name.get(key)
        if field is None:
            raise JsonError(f"{message.__name__} has no field {key!r}", path=path)
        for name in {field.name, field.oneof or field.name} if value is not None else {field.name}:
            if name in seen:
                raise JsonError(f"keys {seen[name]!r} and {key!r} set the same field or oneof", path=path)
            seen[name] = key
        if value is not None and not (field.repeated and value == []):
            yield field, value, f"{path}.{field.name}" if path else field.name


@cache
def json_name(name: str) -> str:
    """The lowerCamelCase name of a field."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


SPELLINGS: dict[type[Record], dict[str, Field]] = {}


def spellings(message: type[Record]) -> dict[str, Field]:
    """The fields by either of the two names that JSON allows."""
    if message not in SPELLINGS:
        SPELLINGS[message] = {f.name: f for f in message.FIELDS} | {
            json_name(f.name): f for f in message.FIELDS
        }
    return SPELLINGS[message]


def read_integers(field: Field, values: list[Any]) -> list[Any] | None:
    """The integers of a list of numbers or of strings; None if the entries must be read one by one."""
    kinds = set(map(type, values))
    if kinds == {str} and max(map(len, values)) <= MAX_INTEGER_CHARACTERS:
        joined = ",".join(values)
        if joined.count(",") >= len(values) or not INTEGER_STRINGS.fullmatch(joined):
            return None
        values = list(map(int, values))
    elif kinds != {int}:
        return None
    allowed = RANGES[field.kind]
    return values if values and min(values) in allowed and max(values) in allowed else None


def read_floats(field: Field, values: list[Any]) -> list[Any] | None:
    """The floats of a list of finite numbers; None if the entries must be read one by one."""
    if not set(map(type, values)) <= {int, float}:
        return None
    try:
        doubles = np.array(values, np.float64)
    except OverflowError:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        result = doubles.astype(np.float32 if field.kind == "float" else np.float64)
    return cast("list[Any]", result.tolist()) if bool(np.isfinite(result).all()) else None


def array(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise JsonError(f"the value must be an array; got {describe(value)}", path=path)
    return value


def values_of(field: Field, value: object, path: str) -> list[object]:
    items = array(value, path)
    read_all = LIST_READERS.get(field.kind)
    values = read_all(field, items) if read_all is not None else None
    if values is not None:
        return values
    return [value_of(field, item, f"{path}[{i}]") for i, item in enumerate(items)]


def value_of(field: Field, value: object, path: str) -> object:
    try:
        return VALUE_READERS[field.kind](field, without_long_integers(value))
    except JsonValueError as error:
        raise JsonError(str(error), path=path) from None


# --- values ----------------------------------------------------------------------------------


def describe(value: object) -> str:
    """A JSON value as error messages show it, with the names that JSON has for its type."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    if isinstance(value, str):
        return f"string {value!r}" if len(value) < 40 else f"a string of {len(value)} characters"
    if isinstance(value, int | float):
        return f"number {value}"
    return "an object" if isinstance(value, dict) else "an array"


def is_unicode(text: str) -> bool:
    """Whether the text has no surrogates, that is, whether it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_string(field: Field, value: object) -> str:
    if not isinstance(value, str):
        raise JsonValueError(f"the value must be a string; got {describe(value)}")
    if not is_unicode(value):
        raise JsonValueError(f"a string must have no unpaired surrogates; got {describe(value)}")
    return value


def read_bytes(field: Field, value: object) -> bytes:
    if not isinstance(value, str):
        raise JsonValueError(f"the value must be a string in base64; got {describe(value)}")
    digits = value.rstrip("=")
    if len(value) - len(digits) not in (0, -len(digits) % 4):
        raise JsonValueError(f"the value must be base64; got {describe(value)}, whose padding is wrong")
    try:
        return base64.b64decode(digits.translate(URL_SAFE) + "=" * (-len(digits) % 4), validate=True)
    except ValueError as error:
        raise JsonValueError(f"the value must be base64; got {describe(value)}: {error}") from None


def number_of(value: object, expected: str) -> int | float:
    """The value of a JSON number, or of a string that is one; numbers beyond the range of double become infinite."""
    if isinstance(value, str) and (match := JSON_NUMBER.fullmatch(value)):
        return float(value) if match[2] or match[3] else integer_or_float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise JsonValueError(f"the value must be {expected}; got {describe(value)}")
    return value


def read_integer(field: Field, value: object) -> int:
    number = number_of(value, "an integer")
    if isinstance(number, float):
        if not number.is_integer():
            raise JsonValueError(f"the value must be an integer; got {describe(value)}")
        number = int(number)
    if number not in RANGES[field.kind]:
        raise JsonValueError(f"the value must fit in {field.kind}; got {describe(value)}")
    return number


def read_float(field: Field, value: object) -> float:
    if isinstance(value, str) and value in NON_FINITE:
        return NON_FINITE[value]
    number = number_of(value, "a number")
    form = "<f" if field.kind == "float" else "<d"
    try:
        if math.isfinite(number):
            rounded: float = struct.unpack(form, struct.pack(form, number))[0]
            return rounded
    except OverflowError:
        pass
    raise JsonValueError(
        f"the value must fit in {field.kind}; got {describe(value)}; write NaN and infinities as strings"
    )


def read_enum(field: Field, value: object) -> int:
    assert field.enum, "a field of kind enum has an enum class"
    members = field.enum.__members__
    if not isinstance(value, str):
        return read_integer(field, value)
    if value not in members:
        raise JsonValueError(f"the value must be one of {', '.join(members)}; got {describe(value)}")
    return int(members[value])


LIST_READERS: dict[str, Callable[[Field, list[Any]], list[Any] | None]] = {
    "int32": read_integers,
    "int64": read_integers,
    "uint64": read_integers,
    "float": read_floats,
    "double": read_floats,
}
VALUE_READERS: dict[str, Callable[[Field, object], object]] = {
    "string": read_string,
    "bytes": read_bytes,
    "int32": read_integer,
    "int64": read_integer,
    "uint64": read_integer,
    "enum": read_enum,
    "float": read_float,
    "double": read_float,
}
