"""Records to JSON: protobuf's JSON mapping, compatible with `google.protobuf.json_format`.

Names in lowerCamelCase, 64-bit integers as strings, bytes in base64, enums by name, non-finite numbers as "NaN",
"Infinity" and "-Infinity".  Every field that is set is written, even with its default value, so that presence is
preserved.  The mapping cannot represent unknown fields and strings that are not UTF-8: they are errors, not
dropped.  Enum numbers without a name, which `json_format` rejects, are written and read as numbers.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx._src.errors import JsonError, LimitError
from sardonyx._src.proto.json.reader import from_json, is_unicode, json_name
from sardonyx._src.proto.record import Field, Record, brief, value_error

__all__ = ["from_json", "to_json"]

MAX_FLOAT32 = float(np.finfo(np.float32).max)


def to_json(record: Record, *, indent: int | None = None, drop_unknown: bool = False) -> str:
    """The record as JSON text: on one line, or indented by `indent` spaces per level.

    Raises JsonError, with the field's path, for unknown fields (unless `drop_unknown` omits them), for strings
    that are not UTF-8 and for values that do not fit their fields.
    """
    try:
        return json.dumps(tree(record, "", drop_unknown), indent=indent)
    except RecursionError:
        what = "messages are nested deeper than Python's recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None


def tree(record: Record, path: str, drop_unknown: bool) -> dict[str, object]:
    """The record as dicts, lists, strings and numbers; one stack frame per message, as in the binary codec."""
    if record.unknown and not drop_unknown:
        count = len(record.unknown)
        why = f"a record must have no unknown fields to be written as JSON; got {count}; pass drop_unknown=True to omit them"
        raise JsonError(why, path=path)
    result: dict[str, object] = {}
    for field, value in fields(record, path):
        field_path = f"{path}.{field.name}" if path else field.name
        if field.message is None:
            result[json_name(field.name)] = numbers_and_text(field, value, field_path)
        elif not field.repeated:
            result[json_name(field.name)] = tree(
                check_value(field, value, field_path), field_path, drop_unknown
            )
        else:
            result[json_name(field.name)] = parts = []
            for i, part in enumerate(value):
                item_path = f"{field_path}[{i}]"
                parts.append(tree(check_value(field, part, item_path), item_path, drop_unknown))
    return result


def fields(record: Record, path: str) -> list[tuple[Field, Any]]:
    """The fields that are set, in field-number order.

    Raises JsonError for an attribute that is not a field and for a repeated field that is not a list.
    """
    try:
        present = list(record.present())
    except AttributeError as error:
        raise JsonError(str(error), path=path) from None
    for field, value in present:
        if field.repeated and not isinstance(value, list | tuple | np.ndarray):
            raise JsonError(
                f"the value must be a list; got {brief(value)}", path=f"{path}.{field.name}".lstrip(".")
            )
    return present


def numbers_and_text(field: Field, value: Any, path: str) -> object:
    """The JSON value of a field of scalars."""
    write = VALUE_WRITERS[field.kind]
    if not field.repeated:
        return write(field, check_value(field, value, path))
    values = value.tolist() if isinstance(value, np.ndarray) else value
    return [write(field, check_value(field, item, f"{path}[{i}]")) for i, item in enumerate(values)]


def check_value(field: Field, value: Any, path: str) -> Any:
    if why := value_error(field, value):
        raise JsonError(why, path=path)
    if field.kind == "string" and not is_unicode(value):
        raise JsonError(f"a string must be UTF-8 to be written as JSON; got {brief(value)}", path=path)
    return value


def enum_form(field: Field, value: int) -> str | int:
    assert field.enum, "a field of kind enum has an enum class"
    try:
        return field.enum(value).name
    except ValueError:
        return int(value)


def float_form(field: Field, value: float) -> str | float:
    """The shortest decimal that parses back to the same float or double."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if field.kind == "double":
        return float(value)
    single = np.float32(value)
    shortest = float(str(single))
    # Readers parse a double: the shortest decimal of the largest float is above the range of float.
    return shortest if abs(shortest) <= MAX_FLOAT32 else float(single)


VALUE_WRITERS: dict[str, Callable[[Field, Any], object]] = {
    "string": lambda field, value: value,
    "bytes": lambda field, value: base64.b64encode(value).decode(),
    "int32": lambda field, value: int(value),
    "int64": lambda field, value: str(int(value)),
    "uint64": lambda field, value: str(int(value)),
    "enum": enum_form,
    "float": float_form,
    "double": float_form,
}
