"""The JSON form of records: protobuf's JSON mapping, as `google.protobuf.json_format` reads and writes it.

Names in lowerCamelCase, 64-bit integers as strings, bytes in base64, enums by name, the numbers that JSON lacks
as "NaN", "Infinity" and "-Infinity".  What is set is written, defaults too, so that presence survives.  The
mapping has no place for unknown fields and for strings that are not UTF-8: they are refused, not dropped.
Enum numbers without a name, which `json_format` refuses, are written and read as numbers.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx._src.errors import JsonError, LimitError
from sardonyx._src.proto.json_reading import from_json, is_unicode, json_name
from sardonyx._src.proto.record import Field, Record, brief, flaw

__all__ = ["from_json", "to_json"]

LARGEST = float(np.finfo(np.float32).max)


def to_json(record: Record, *, indent: int | None = None, drop_unknown: bool = False) -> str:
    """The record as JSON text: on one line, or indented by so many spaces a level.

    Raises JsonError, with the field's path, for unknown fields (unless `drop_unknown` leaves them out), for
    strings that are not UTF-8 and for values that their fields cannot hold.
    """
    try:
        return json.dumps(tree(record, "", drop_unknown), indent=indent)
    except RecursionError:
        what = "messages are nested deeper than Python's own recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None


def tree(record: Record, path: str, drop_unknown: bool) -> dict[str, object]:
    """The record as dicts, lists, strings and numbers; one stack frame a message, as in the binary codec."""
    if record.unknown and not drop_unknown:
        count = len(record.unknown)
        why = (
            f"{count} unknown field{'s' * (count > 1)}, which JSON cannot hold; drop_unknown leaves them out"
        )
        raise JsonError(why, path=path)
    result: dict[str, object] = {}
    for field, value in fields(record, path):
        at = f"{path}.{field.name}" if path else field.name
        if field.message is None:
            result[json_name(field.name)] = numbers_and_text(field, value, at)
        elif not field.repeated:
            result[json_name(field.name)] = tree(checked(field, value, at), at, drop_unknown)
        else:
            result[json_name(field.name)] = parts = []
            for i, part in enumerate(value):
                place = f"{at}[{i}]"
                parts.append(tree(checked(field, part, place), place, drop_unknown))
    return result


def fields(record: Record, path: str) -> list[tuple[Field, Any]]:
    """What is set, by number; JsonError for an attribute that is no field and for a list that is none."""
    try:
        found = list(record.present())
    except AttributeError as error:
        raise JsonError(str(error), path=path) from None
    for field, value in found:
        if field.repeated and not isinstance(value, list | tuple | np.ndarray):
            raise JsonError(
                f"{brief(value)} stands where a list is wanted", path=f"{path}.{field.name}".lstrip(".")
            )
    return found


def numbers_and_text(field: Field, value: Any, path: str) -> object:
    """The JSON form of a field that holds no messages."""
    write = WRITERS[field.kind]
    if not field.repeated:
        return write(field, checked(field, value, path))
    values = value.tolist() if isinstance(value, np.ndarray) else value
    return [write(field, checked(field, one, f"{path}[{i}]")) for i, one in enumerate(values)]


def checked(field: Field, value: Any, path: str) -> Any:
    if why := flaw(field, value):
        raise JsonError(why, path=path)
    if field.kind == "string" and not is_unicode(value):
        raise JsonError(f"{brief(value)} is not UTF-8, which JSON cannot hold", path=path)
    return value


def enum_form(field: Field, value: int) -> str | int:
    assert field.enum, "fields of kind enum have one"
    try:
        return field.enum(value).name
    except ValueError:
        return int(value)


def float_form(field: Field, value: float) -> str | float:
    """The number as it reads shortest and is still the same float or double."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if field.kind == "double":
        return float(value)
    single = np.float32(value)
    shortest = float(str(single))
    # Readers take the number as a double: that of the largest float, cut short, would be too large for them.
    return shortest if abs(shortest) <= LARGEST else float(single)


WRITERS: dict[str, Callable[[Field, Any], object]] = {
    "string": lambda field, value: value,
    "bytes": lambda field, value: base64.b64encode(value).decode(),
    "int32": lambda field, value: int(value),
    "int64": lambda field, value: str(int(value)),
    "uint64": lambda field, value: str(int(value)),
    "enum": enum_form,
    "float": float_form,
    "double": float_form,
}
