"""Records from JSON text: strict where protobuf's own reader in Python lets things pass."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

from sardonyx._src.errors import JsonError, LimitError
from sardonyx._src.proto.record import RANGES, Field, Record
from sardonyx._src.proto.wire import Limits

R = TypeVar("R", bound=Record)
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
LONGEST = (
    24  # characters; a longer integer fits no field of integers, and a float is all that is wanted of it
)
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
URL_SAFE = str.maketrans("-_", "+/")


def from_json(text: str, message: type[R], limits: Limits | None = None) -> R:
    """The `message` that JSON text holds in protobuf's mapping.

    Names may be spelt `opType` or `op_type`; null is absent; integers may be numbers or strings; base64 may be
    of either alphabet and lack its padding.  Raises JsonError, with the path of the place, for anything else
    than such a message (unknown and repeated keys, and two members of a oneof, are faults), and LimitError
    where it goes past `limits`.
    """
    limits = limits or Limits()
    if len(text) > limits.size:
        raise LimitError(f"the text has {len(text)} characters, more than {limits.size}", limit="size")
    reader = Reader(limits)
    try:
        tree = json.loads(text, parse_int=integer_or_float, object_pairs_hook=reader.members)
        return reader.message(tree, message, "")
    except json.JSONDecodeError as error:
        raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}", path="") from None
    except RecursionError:
        what = "the text is nested deeper than Python's own recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None


def integer_or_float(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST else float(digits)


class Refused(Exception):  # never leaves this module
    """A JSON value that its field cannot take; the caller knows the path."""


class Doubled(dict[str, object]):
    """An object in which a key comes twice."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__()
        for self.key, value in pairs:
            if self.key in self:
                break
            self[self.key] = value


class Reader:
    """Builds records and keeps the limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.records = limits.records
        self.depth = limits.nesting

    def members(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        """A JSON object, counted as the text is parsed, before they fill the memory."""
        self.records -= 1
        if self.records < 0:
            raise LimitError(f"the text holds more than {self.limits.records} objects", limit="records")
        found = dict(pairs)
        return found if len(found) == len(pairs) else Doubled(pairs)

    def message(self, tree: object, message: type[R], path: str) -> R:
        """The record of a JSON object; one stack frame a message, as in the binary codec."""
        if not isinstance(tree, dict):
            raise JsonError(
                f"{name_of(tree)} stands where an object is wanted ({message.__name__})", path=path
            )
        if message.NESTS:
            self.depth -= 1
            if self.depth < 0:
                what = f"messages are nested more than {self.limits.nesting} levels deep"
                raise LimitError(what, limit="nesting")
        record = message()
        for field, value, at in fields_in(tree, message, path):
            if field.message is None:
                record.set(
                    field.name, values_of(field, value, at) if field.repeated else value_of(field, value, at)
                )
            elif not field.repeated:
                record.set(field.name, self.message(value, field.message, at))
            else:
                parts: list[Record] = []
                for i, part in enumerate(array(value, at)):
                    parts.append(self.message(part, field.message, f"{at}[{i}]"))
                record.set(field.name, parts)
        if message.NESTS:
            self.depth += 1
        return record


def fields_in(
    tree: dict[str, object], message: type[Record], path: str
) -> Iterator[tuple[Field, object, str]]:
    """Field, value and path of what the object sets; nulls and empty arrays set nothing."""
    if isinstance(tree, Doubled):
        raise JsonError(f"key {tree.key!r} comes twice", path=path)
    by_name = spellings(message)
    seen: dict[str, str] = {}  # field or oneof -> key
    for key, value in tree.items():
        field = by_name.get(key)
        if field is None:
            raise JsonError(f"{message.__name__} has no field {key!r}", path=path)
        for thing in {field.name, field.oneof or field.name} if value is not None else {field.name}:
            if thing in seen:
                raise JsonError(f"keys {seen[thing]!r} and {key!r} set the same field or oneof", path=path)
            seen[thing] = key
        if value is not None and not (field.repeated and value == []):
            yield field, value, f"{path}.{field.name}" if path else field.name


@cache
def json_name(name: str) -> str:
    """The lowerCamelCase name of a field."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


SPELLINGS: dict[type[Record], dict[str, Field]] = {}


def spellings(message: type[Record]) -> dict[str, Field]:
    """The fields by both names that JSON may use."""
    if message not in SPELLINGS:
        SPELLINGS[message] = {f.name: f for f in message.FIELDS} | {
            json_name(f.name): f for f in message.FIELDS
        }
    return SPELLINGS[message]


def array(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise JsonError(f"{name_of(value)} stands where an array is wanted", path=path)
    return value


def values_of(field: Field, value: object, path: str) -> list[object]:
    return [value_of(field, one, f"{path}[{i}]") for i, one in enumerate(array(value, path))]


def value_of(field: Field, value: object, path: str) -> object:
    try:
        return READERS[field.kind](field, value)
    except Refused as error:
        raise JsonError(str(error), path=path) from None


# --- values ----------------------------------------------------------------------------------


def name_of(value: object) -> str:
    """What a JSON value is, in the words of JSON."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    if isinstance(value, str):
        return f"string {value!r}" if len(value) < 40 else f"a string of {len(value)} characters"
    if isinstance(value, int | float):
        return f"number {value}"
    return "an object" if isinstance(value, dict) else "an array"


def is_unicode(text: str) -> bool:
    """Whether the text is free of surrogates, which stand for bytes that are not UTF-8 or for nothing."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_string(field: Field, value: object) -> str:
    if not isinstance(value, str):
        raise Refused(f"{name_of(value)} stands where a string is wanted")
    if not is_unicode(value):
        raise Refused(f"{name_of(value)} holds half of a surrogate pair")
    return value


def read_bytes(field: Field, value: object) -> bytes:
    if not isinstance(value, str):
        raise Refused(f"{name_of(value)} stands where a string in base64 is wanted")
    digits = value.rstrip("=")
    if len(value) - len(digits) not in (0, -len(digits) % 4):
        raise Refused(f"{name_of(value)} is not base64: its padding is not right")
    try:
        return base64.b64decode(digits.translate(URL_SAFE) + "=" * (-len(digits) % 4), validate=True)
    except ValueError as error:
        raise Refused(f"{name_of(value)} is not base64: {error}") from None


def number_of(value: object, wanted: str) -> int | float:
    """The number that a JSON number or a string of one is; 1e400 and its like become infinite."""
    if isinstance(value, str) and (match := NUMBER.fullmatch(value)):
        return float(value) if match[2] or match[3] else integer_or_float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(f"{name_of(value)} stands where {wanted} is wanted")
    return value


def read_integer(field: Field, value: object) -> int:
    number = number_of(value, "an integer")
    if isinstance(number, float):
        if not number.is_integer():
            raise Refused(f"{name_of(value)} stands where an integer is wanted")
        number = int(number)
    if number not in RANGES[field.kind]:
        raise Refused(f"{name_of(value)} does not fit {field.kind}")
    return number


def read_float(field: Field, value: object) -> float:
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    number = number_of(value, "a number")
    form = "<f" if field.kind == "float" else "<d"
    try:
        if math.isfinite(number):
            rounded: float = struct.unpack(form, struct.pack(form, number))[0]
            return rounded
    except OverflowError:
        pass
    raise Refused(f"{name_of(value)} does not fit {field.kind}; NaN and infinities stand in quotes")


def read_enum(field: Field, value: object) -> int:
    assert field.enum, "fields of kind enum have one"
    members = field.enum.__members__
    if not isinstance(value, str):
        return read_integer(field, value)
    if value not in members:
        raise Refused(f"{name_of(value)} is none of {', '.join(members)}")
    return int(members[value])


READERS: dict[str, Callable[[Field, object], object]] = {
    "string": read_string,
    "bytes": read_bytes,
    "int32": read_integer,
    "int64": read_integer,
    "uint64": read_integer,
    "enum": read_enum,
    "float": read_float,
    "double": read_float,
}
